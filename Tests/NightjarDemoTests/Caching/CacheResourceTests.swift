import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// The parameters of `/cache/{name}`.
@Suite struct CacheResourceTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func get(_ target: String, _ fields: String...) throws -> CurlResponse {
        try demo.curl("/cache/\(target)", fields.flatMap { ["-H", $0] })
    }

    private func date(_ text: String?) throws -> Date {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return try #require(formatter.date(from: text ?? ""))
    }

    /// Sends a request through a plain socket and reads until the connection ends.
    private func talk(_ target: String, _ fields: String = "") throws -> String {
        let client = try demo.connect()
        try client.send(Bytes("GET /cache/\(target) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(fields)\r\n".utf8))
        return Bytes(try client.receiveToEnd()).text
    }

    @Test func onlyRequestedFieldsAreSent() throws {
        let response = try get("a")
        #expect(response.status == 200)
        #expect(response.text == #"{"name":"a","version":1,"seed":0}"#)
        #expect(
            Set(response.headers.map { $0.name.lowercased() }) == [
                "content-type", "content-length", "date", "accept-ranges", "demo-read",
            ])
    }

    // MARK: Fields

    @Test func cacheControlIsSentUnchanged() throws {
        #expect(try get("a?control=max-age%3D60,%20%22x")["Cache-Control"] == "max-age=60, \"x")
        let twice = try get("a?control=public&control=max-age=1")
        #expect(twice.headers.filter { $0.name == "Cache-Control" }.map(\.value) == ["public", "max-age=1"])
    }

    @Test func expiresIsRelativeToDate() throws {
        for target in ["a?expires=90", "a?expires=90&date=-3600"] {
            let response = try get(target)
            #expect(abs(try date(response["Expires"]).timeIntervalSince(date(response["Date"])) - 90) <= 1)
        }
        #expect(try date(get("a?expires=-90")["Expires"]) < Date())
        #expect(try get("a?expires=garbage")["Expires"] == "0")
    }

    @Test func dateAgeAndLastModifiedAreConfigurable() throws {
        #expect(abs(try date(get("a?date=3600")["Date"]).timeIntervalSinceNow - 3600) <= 3)
        #expect(try get("a?date=none")["Date"] == nil)
        #expect(try get("a?age=30")["Age"] == "30")
        #expect(try get("a?age=old")["Age"] == "old")
        let first = try get("b?modified=100")["Last-Modified"]
        #expect(abs(try date(first).timeIntervalSinceNow + 100) <= 3)
        #expect(try get("b?modified=100")["Last-Modified"] == first)
    }

    @Test func otherFieldsAreSentUnchanged() throws {
        let response = try get("a?field=Pragma:no-cache&field=X-One:%20a:b")
        #expect(response["Pragma"] == "no-cache")
        #expect(response["X-One"] == "a:b")
    }

    @Test func bodyNamesItsVariant() throws {
        let german = try get("a?vary=Accept-Language,X-No&etag=strong", "Accept-Language: de")
        #expect(german["Vary"] == "Accept-Language, X-No")
        #expect(german.text.contains(#""varied":{"accept-language":"de","x-no":null}"#))
        let french = try get("a?vary=Accept-Language,X-No&etag=strong", "Accept-Language: fr")
        #expect(french["ETag"] != german["ETag"])
        let tag = "If-None-Match: \(german["ETag"] ?? "")"
        #expect(try get("a?vary=Accept-Language,X-No&etag=strong", "Accept-Language: fr", tag).status == 200)
        #expect(try get("a?vary=*")["Vary"] == "*")
    }

    // MARK: Validators and versions

    @Test func entityTagIsConfigurable() throws {
        let strong = try #require(try get("a?etag=strong")["ETag"])
        let weak = try #require(try get("a?etag=weak")["ETag"])
        #expect(weak == "W/" + strong)
        #expect(try get("a?etag=none")["ETag"] == nil)
        let unchanged = try get("a?etag=strong&control=max-age=5", "If-None-Match: \(strong)")
        #expect(unchanged.status == 304)
        #expect(unchanged["Cache-Control"] == "max-age=5")
        #expect(try get("a?etag=weak", "If-None-Match: \(weak)").status == 304)
        #expect(try get("a", "If-None-Match: \(strong)").status == 200)
        let modified = try #require(try get("a?modified=10")["Last-Modified"])
        #expect(try get("a?modified=10", "If-Modified-Since: \(modified)").status == 304)
        #expect(demo.server.statistics.paths["/cache/a"]?.notModified == 3)
    }

    @Test(arguments: ["POST", "PUT", "PATCH"])
    func writeCreatesANewVersion(method: String) throws {
        let before = try get("a?etag=strong")
        let target = "/cache/a?location=/cache/b&content-location=/cache/c"
        let written = try demo.curl(target, ["-X", method, "-d", "x"])
        #expect(written.status == 200)
        #expect(try written.json["version"] as? Int == 2)
        #expect(written["Location"] == "/cache/b")
        #expect(written["Content-Location"] == "/cache/c")
        let after = try get("a?etag=strong", "If-None-Match: \(before["ETag"] ?? "")")
        #expect(try after.json["version"] as? Int == 2)
        #expect(try get("b").json["version"] as? Int == 1)
    }

    @Test func failedWriteChangesNothing() throws {
        #expect(try demo.curl("/cache/a?status=500", ["-d", "x"]).status == 500)
        #expect(try demo.curl("/cache/a?status=403", ["-X", "DELETE"]).status == 403)
        #expect(try get("a").json["version"] as? Int == 1)
    }

    @Test func deleteRestartsTheVersions() throws {
        _ = try demo.curl("/cache/a", ["-d", "x"])
        #expect(try get("a").json["version"] as? Int == 2)
        let deleted = try demo.curl("/cache/a?location=/cache/b", ["-X", "DELETE"])
        #expect((deleted.status, deleted["Location"]) == (204, "/cache/b"))
        #expect(try get("a").json["version"] as? Int == 1)
        _ = try demo.curl("/cache/a", ["-d", "x"])
        #expect(try demo.control(#"{"reset":true}"#).status == 200)
        #expect(try get("a").json["version"] as? Int == 1)
    }

    // MARK: Bodies

    @Test(arguments: [0, 1, 14, 15, 16, 40, 65_521, 200_000, 3 << 20])
    func bodyEndsWithItsChecksum(length: Int) throws {
        let response = try get("a?length=\(length)")
        #expect(response.body.count == length)
        #expect(DemoContent.isIntact(response.body) == (length >= 15))
    }

    @Test func mixedBodiesAreDetectable() throws {
        let first = try get("a?length=1000").body
        _ = try demo.curl("/cache/a", ["-d", "x"])
        let second = try get("a?length=1000").body
        #expect(second.starts(with: #"{"name":"a","version":2,"seed":0}"#.utf8))
        #expect(DemoContent.isIntact(second))
        #expect(!DemoContent.isIntact(Array(first[..<500]) + second[500...]))
        #expect(!DemoContent.isIntact(first.dropLast()))
        #expect(try get("a?length=1000&seed=5").body != second)
    }

    @Test func partsMatchTheCompleteBody() throws {
        let whole = try get("a?length=2500000&etag=strong")
        let ranges = [0..<10, 30..<100, 65_000..<140_000, 2_400_000..<2_500_000, 2_499_990..<2_500_000]
        for range in ranges {
            let field = "Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"
            let part = try get("a?length=2500000&etag=strong", field, "If-Range: \(whole["ETag"] ?? "")")
            #expect(part.status == 206)
            #expect(part.body == Array(whole.body[range]))
        }
        #expect(try get("a?length=2500000&etag=strong", "Range: bytes=0-1", "If-Range: \"x\"").status == 200)
        #expect(try get("a", "Range: bytes=2-5").text == "name")
    }

    @Test func slowReaderUsesNoMemory() throws {
        let client = try Socket(connectingTo: demo.port, receiveBuffer: 4096)
        try client.send("GET /cache/a?length=67108864 HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try client.receive(atMost: 100)
        try eventually("the server stopped sending") {
            let before = demo.server.statistics.bytesOut
            usleep(20_000)
            return demo.server.statistics.bytesOut == before
        }
        #expect(demo.server.statistics.bytesOut < 16 << 20)
    }

    @Test func bodyIsEncodedAsAccepted() throws {
        let plain = try get("a?gzip=1&etag=strong&length=5000")
        let encoded = try demo.curl("/cache/a?gzip=1&etag=strong&length=5000", ["--compressed"])
        #expect(plain["Content-Encoding"] == nil)
        #expect(encoded["Content-Encoding"] == "gzip")
        #expect(encoded.body == plain.body)
        #expect((plain["Vary"], encoded["Vary"]) == ("Accept-Encoding", "Accept-Encoding"))
        #expect(plain["ETag"] != encoded["ETag"])
    }

    @Test func bodiesAreChunkedOrTruncated() throws {
        let chunked = try talk("a?chunked=1")
        #expect(chunked.contains("Transfer-Encoding: chunked\r\n"))
        #expect(chunked.hasSuffix("\r\n0\r\n\r\n"))
        let cut = try talk("a?cut=5")
        #expect(cut.contains("Content-Length: 33\r\n"))
        #expect(cut.hasSuffix("\r\n\r\n{\"nam"))
        let both = try talk("a?cut=5&chunked=1")
        #expect(both.hasSuffix("\r\n\r\n5\r\n{\"nam\r\n"))
        #expect(try talk("a?cut=0").hasSuffix("\r\n\r\n"))
        let long = try talk("a?cut=200000&length=3000000")
        #expect(long.utf8.count > 200_000)
        // curl's exit status 18: the body is incomplete.
        #expect(try demo.curlStatus("/cache/a?cut=2000000&length=3000000") == 18)
    }

    // MARK: Status and failures

    @Test func statusIsConfigurable() throws {
        for status in [200, 203, 204, 299, 404, 410, 500] {
            let response = try get("a?etag=strong&status=\(status)&control=max-age=60")
            #expect(response.status == status)
            #expect(response["Cache-Control"] == "max-age=60")
        }
        let tag = try get("a?etag=strong")["ETag"] ?? ""
        #expect(try get("a?etag=strong&status=404", "If-None-Match: \(tag)").status == 404)
    }

    @Test func responseIsDelayed() throws {
        let start = ContinuousClock.now
        #expect(try get("a?delay=0.2").status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(200))
    }

    @Test func failuresBeginAtTheNamedRequest() throws {
        #expect(try (1...4).map { _ in try get("a?fail=3").status } == [200, 200, 503, 503])
        #expect(try get("a")["Demo-Read"] == "5")
        #expect(try get("a?fail=1&failure=504").status == 504)
        #expect(try demo.curlStatus("/cache/a?fail=1&failure=drop") == 52)
        #expect(try get("b?fail=1").status == 503)
    }

    // MARK: Privacy

    @Test func privateBodyNamesTheUser() throws {
        #expect(try get("a?private-to=user").status == 401)
        let cookie = try get("a?private-to=user&etag=strong", "Cookie: x=1; user=bo")
        #expect(try cookie.json["private_to"] as? String == "bo")
        let basic = try demo.curl("/cache/a?private-to=user&etag=strong", ["-u", "cy:x"])
        #expect(try basic.json["private_to"] as? String == "cy")
        #expect(basic["ETag"] != cookie["ETag"])
        let login = try demo.form("/v1/auth/login", ["email": "ada@example.org", "password": "moonlight"])
        let token = try #require(try login.json["access_token"] as? String)
        let bearer = try get("a?private-to=ada", "Authorization: Bearer \(token)")
        #expect(try bearer.json["private_to"] as? String == "ada")
        #expect(try get("a?private-to=ada", "Cookie: user=bo").status == 403)
        #expect(try get("a?private-to=user", "Authorization: Bearer x", "Cookie: user=bo").status == 401)
    }

    // MARK: Other responses

    @Test(arguments: ["301", "302", "303", "307", "308"])
    func redirectsAreCacheable(status: String) throws {
        let response = try get("a/redirect?status=\(status)&control=max-age=60&to=/cache/b%3Fx")
        #expect(String(response.status) == status)
        #expect(response["Cache-Control"] == "max-age=60")
        #expect(response["Location"] == "/cache/b?x")
        #expect(try get("a%20b/redirect")["Location"] == "/cache/a%20b")
    }

    @Test func clearSiteDataIsSent() throws {
        #expect(try get("a/clear")["Clear-Site-Data"] == "\"cache\"")
        #expect(try get("a/clear?types=cache,cookies")["Clear-Site-Data"] == "\"cache\", \"cookies\"")
        #expect(try get("a/clear?types=everything").status == 400)
    }

    @Test func errorsAreCacheable() throws {
        let missing = try get("a/missing")
        #expect((missing.status, missing["Cache-Control"]) == (404, "max-age=60"))
        let gone = try get("a/gone?control=max-age=5")
        #expect((gone.status, gone["Cache-Control"]) == (410, "max-age=5"))
        #expect(demo.server.statistics.paths["/cache/a/gone"]?.requests == 1)
    }

    // MARK: Bounds

    @Test(arguments: [
        "etag=x", "expires=x", "expires=99999999999", "date=99999999999999999999", "modified=x", "status=100",
        "length=-1", "length=67108865", "seed=-1", "gzip=2", "gzip=1&length=5000000", "chunked=x", "cut=-1",
        "delay=61", "delay=nan", "fail=0", "failure=200", "vary=a%0Ab", "vary=a,b,c,d,e,f,g,h,i", "vary=a%20b",
        "control=a%0Ab", "age=%0D", "field=x", "field=a%20b:c", "field=Content-Length:1", "field=a:%00",
        "control=1&control=2&control=3&control=4&control=5&control=6&control=7&control=8&control=9",
    ])
    func invalidParametersAreRejected(query: String) throws {
        let response = try get("a?\(query)")
        #expect(response.status == 400)
        #expect(response["Content-Type"] == "application/problem+json")
    }

    @Test func tooLongParametersAreRejected() throws {
        #expect(try get("a?control=" + String(repeating: "x", count: 1001)).status == 400)
        #expect(try get(String(repeating: "n", count: 101)).status == 404)
        #expect(try get("a/redirect?status=304").status == 400)
        #expect(try get("a/redirect?to=%0D%0AX:y").status == 400)
        #expect(try demo.curl("/cache/a?location=%0D%0AX:y", ["-d", "x"]).status == 400)
        #expect(try get("a").json["version"] as? Int == 1)
    }

    @Test func indexListsTheParameters() throws {
        let cache = try #require(try demo.curl("/").json["cache"] as? [String: [String: String]])
        #expect(cache["GET /cache/{name}"]?["control"] != nil)
    }
}
