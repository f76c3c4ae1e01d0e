import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// Validators, conditions and ranges of the API's resources: RFC 9110 sections 13 and 14.
@Suite struct ConditionTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func get(_ path: String, _ fields: String...) throws -> CurlResponse {
        try demo.curl(path, fields.flatMap { ["-H", $0] })
    }

    @Test(arguments: ["/v1/articles/1", "/v1/users/1", "/v1/comments/1"])
    func resourceHasValidatorsAndEvaluatesConditions(path: String) throws {
        let first = try get(path)
        let tag = try #require(first["ETag"])
        let modified = try #require(first["Last-Modified"])
        #expect(tag.hasPrefix("\""))
        #expect(first["Cache-Control"] == "no-cache")
        #expect(try get(path)["ETag"] == tag)

        let unchanged = try get(path, "If-None-Match: \(tag)")
        #expect(unchanged.status == 304)
        #expect(unchanged.body == [])
        #expect(unchanged["ETag"] == tag)
        #expect(unchanged["Cache-Control"] == "no-cache")
        #expect(unchanged["Content-Type"] == nil)
        #expect(unchanged["Content-Length"] == nil)
        #expect(try get(path, "If-None-Match: \"x\", W/\(tag)").status == 304)
        #expect(try get(path, "If-None-Match: *").status == 304)
        #expect(try get(path, "If-None-Match: \"x\"").status == 200)
        #expect(try get(path, "If-Modified-Since: \(modified)").status == 304)
        #expect(try get(path, "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT").status == 200)
        #expect(try get(path, "If-Modified-Since: yesterday").status == 200)
        // If both are present, the tag decides (section 13.2.2).
        #expect(try get(path, "If-None-Match: \"x\"", "If-Modified-Since: \(modified)").status == 200)
        #expect(try demo.curl(path, ["-I", "-H", "If-None-Match: \(tag)"]).status == 304)
    }

    @Test(arguments: ["Fri, 01 Jan 2100 00:00:00 GMT", "Friday, 01-Jan-60 00:00:00 GMT", "Fri Jan  1 00:00:00 2100"])
    func dateIsReadInThreeFormats(date: String) throws {
        #expect(try get("/v1/articles/1", "If-Modified-Since: \(date)").status == 304)
    }

    @Test func changesChangeTheValidators() throws {
        let first = try get("/v1/articles/1")
        let patched = try demo.send("PATCH", "/v1/articles/1", json: #"{"title":"Anders"}"#)
        let second = try get("/v1/articles/1")
        #expect(patched["ETag"] == second["ETag"])
        #expect(patched["Content-Location"] == "/v1/articles/1")
        #expect(first["ETag"] != second["ETag"])
        #expect(first["Last-Modified"] != second["Last-Modified"])

        let replaced = try demo.send("PUT", "/v1/articles/1", json: #"{"title":"T","body":"y","author_id":3}"#)
        #expect(replaced.status == 200)
        #expect(replaced["ETag"] == nil)
        #expect(try get("/v1/articles/1")["ETag"] != second["ETag"])

        let list = try get("/v1/articles")
        #expect(try get("/v1/articles", "If-None-Match: \(list["ETag"] ?? "")").status == 304)
        #expect(try demo.curl("/v1/articles/1", ["-X", "DELETE"]).status == 204)
        #expect(try get("/v1/articles", "If-None-Match: \(list["ETag"] ?? "")").status == 200)
        #expect(try get("/v1/articles/1", "If-None-Match: \(second["ETag"] ?? "")").status == 404)
    }

    @Test func changeWithAFailedConditionIsRejected() throws {
        let first = try get("/v1/users/1")
        let tag = try #require(first["ETag"])
        let wrong = try demo.curl("/v1/users/1", ["-X", "DELETE", "-H", "If-Match: \"x\""])
        #expect(wrong.status == 412)
        #expect(try demo.curl("/v1/users/1", ["-X", "DELETE", "-H", "If-Match: W/\(tag)"]).status == 412)
        #expect(try demo.curl("/v1/users/1", ["-X", "DELETE", "-H", "If-None-Match: *"]).status == 412)
        let old = "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(try demo.curl("/v1/users/1", ["-X", "DELETE", "-H", old]).status == 412)
        let json = ["-X", "PATCH", "-H", "Content-Type: application/json", "-d", #"{"bio":"b"}"#]
        #expect(try demo.curl("/v1/users/1", json + ["-H", "If-Match: \(tag)"]).status == 200)
        #expect(try demo.curl("/v1/users/1", json + ["-H", "If-Match: \(tag)"]).status == 412)
    }

    @Test func createdResourceHasValidators() throws {
        let created = try demo.send("POST", "/v1/articles/1/comments", json: #"{"author_id":1,"body":"Hm."}"#)
        let location = try #require(created["Location"])
        #expect(try get(location)["ETag"] == created["ETag"])
        #expect(created["Last-Modified"] != nil)
    }

    @Test func privateResourceHasCacheControlPrivate() throws {
        let login = try demo.form("/v1/auth/login", ["email": "ada@example.org", "password": "moonlight"])
        let bearer = "Authorization: Bearer \(try login.json["access_token"] as? String ?? "")"
        for path in ["/v1/me", "/v1/private/articles"] {
            let response = try get(path, bearer)
            #expect(response["Cache-Control"] == "private, no-cache")
            #expect(response["Vary"] == "Authorization")
            #expect(try get(path, bearer, "If-None-Match: \(response["ETag"] ?? "")").status == 304)
            #expect(try get(path, "If-None-Match: \(response["ETag"] ?? "")").status == 401)
        }
    }

    // MARK: Ranges

    /// A body of 1000 bytes.
    private static let picture = (0..<1000).map { UInt8($0 % 251) }

    private func upload(_ bytes: [UInt8]) throws {
        let response = try demo.curl(
            "/v1/users/1/avatar", ["-X", "PUT", "-F", "avatar=@-;type=image/png"], input: .init(bytes))
        #expect((200...201).contains(response.status))
    }

    @Test func pictureIsServedInRanges() throws {
        try upload(Self.picture)
        let path = "/v1/users/1/avatar"
        let whole = try get(path)
        let tag = try #require(whole["ETag"])
        #expect(whole.body == Self.picture)
        #expect(whole["Accept-Ranges"] == "bytes")
        for (range, part) in [("0-9", 0..<10), ("990-", 990..<1000), ("-5", 995..<1000), ("998-2000", 998..<1000)] {
            let response = try get(path, "Range: bytes=\(range)")
            #expect(response.status == 206)
            #expect(response.body == Array(Self.picture[part]))
            #expect(response["Content-Range"] == "bytes \(part.lowerBound)-\(part.upperBound - 1)/1000")
            #expect(response["ETag"] == tag)
        }
        for range in ["bytes=9-0", "bytes=a-b", "bytes=-", "bytes=0-1,5-6", "lines=0-1", "bytes=--1"] {
            #expect(try get(path, "Range: \(range)").status == 200)
        }
        for range in ["bytes=1000-", "bytes=-0", "bytes=99999999999999999999-"] {
            let response = try get(path, "Range: \(range)")
            #expect(response.status == 416)
            #expect(response["Content-Range"] == "bytes */1000")
        }
        #expect(try get(path, "Range: bytes=0-99999999999999999999").body == Self.picture)
        // HEAD ignores Range (section 14.2).
        #expect(try demo.curl(path, ["-I", "-H", "Range: bytes=0-1"]).status == 200)
        #expect(demo.server.statistics.paths[path]?.partial == 5)
    }

    @Test func ifRangeOfAnotherPictureReturnsTheCompleteOne() throws {
        try upload(Self.picture)
        let path = "/v1/users/1/avatar"
        let first = try get(path)
        let tag = try #require(first["ETag"])
        let modified = try #require(first["Last-Modified"])
        #expect(try get(path, "Range: bytes=0-1", "If-Range: \(tag)").status == 206)
        #expect(try get(path, "Range: bytes=0-1", "If-Range: W/\(tag)").status == 200)
        #expect(try get(path, "Range: bytes=0-1", "If-None-Match: \(tag)").status == 304)
        try eventually("the second of the change has passed") {
            try get(path, "Range: bytes=0-1", "If-Range: \(modified)").status == 206
        }
        #expect(try get(path, "Range: bytes=0-1", "If-Range: Sun, 06 Nov 1994 08:49:37 GMT").status == 200)
        try upload(Self.picture.reversed())
        #expect(try get(path, "Range: bytes=0-1", "If-Range: \(tag)").status == 200)
        #expect(try get(path, "If-None-Match: \(tag)").status == 200)
    }

    // MARK: Counting

    @Test func serverCountsRequestsPerPath() throws {
        let tag = try get("/v1/articles/1?a=1")["ETag"] ?? ""
        _ = try get("/v1/articles/1", "If-None-Match: \(tag)")
        _ = try get("/v1/articles/1", "If-None-Match: \"x\"", "Range: bytes=0-1")
        _ = try get("/v1/articles/2", "If-Modified-Since: \(Date.distantPast)")
        let seen = demo.server.statistics.paths
        let first = try #require(seen["/v1/articles/1"])
        #expect((first.requests, first.conditional, first.notModified) == (3, 2, 1))
        #expect((first.ranged, first.partial) == (1, 0))
        #expect(seen["/v1/articles/2"]?.conditional == 1)
        let paths = try demo.curl("/__stats").json["paths"] as? [String: [String: Int]]
        #expect(
            paths?["/v1/articles/1"] == [
                "requests": 3, "conditional": 2, "ranged": 1, "not_modified": 1, "partial": 0,
            ])
        #expect(paths?["/__stats"] == nil)
        _ = try demo.curl("/__stats/reset", ["-X", "POST"])
        #expect(demo.server.statistics.paths.isEmpty)
    }

    @Test func oldestPathsAreRemoved() throws {
        let client = try demo.connect()
        for number in 0...DemoStatistics.maximumPaths {
            try client.send(.init("GET /n/\(number) HTTP/1.1\r\nHost: x\r\n\r\n".utf8))
            _ = try client.receive(through: "}")
        }
        let paths = demo.server.statistics.paths
        #expect(paths.count == DemoStatistics.maximumPaths)
        #expect(paths["/n/0"] == nil)
    }
}
