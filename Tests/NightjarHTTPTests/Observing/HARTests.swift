import Foundation
import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct HARTests {
    private func record(
        _ method: NightjarHTTP.Method = .get, _ url: String = "http://a/", _ fields: [(String, String)] = [],
        body: RequestRecord.Body = .none
    ) throws -> RequestRecord {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return RequestRecord(method: method, url: try RequestURL(url), headers: headers, body: body)
    }

    private func response(_ fields: [(String, String)] = [], body: Bytes? = nil) throws -> HAREntry.Response {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return HAREntry.Response(
            head: ResponseHead(status: 200, reason: "OK", headers: headers),
            body: body.map { ByteBuffer(bytes: $0.array) })
    }

    private func entry(_ request: RequestRecord, _ response: HAREntry.Response? = nil) -> HAREntry {
        HAREntry(started: 1_700_000_000.25, request: request, response: response, total: .microseconds(1_234_567))
    }

    private func text(_ buffer: ByteBuffer) -> String { String(buffer: buffer) }

    /// Writes an archive with the entries, parses it, and returns the parsed entries.
    private func archive(_ entries: [HAREntry], _ writer: HARWriter = HARWriter()) throws -> [JSONValue] {
        var writer = writer
        var whole = text(writer.begin(version: "1.0"))
        for entry in entries { whole += text(writer.entry(entry)) }
        let log = try #require(try JSONValue(parsing: whole + text(writer.end()))["log"])
        #expect(log["version"] == .string("1.2"))
        #expect(log["creator"] == .object([.init("name", .string("nightjar")), .init("version", .string("1.0"))]))
        guard case .array(let values) = log["entries"] else { throw NightjarError(.decoding, "no entries") }
        return values
    }

    // MARK: Format

    @Test func archiveHasAnyNumberOfEntries() throws {
        for count in 0...3 {
            #expect(try archive(Array(repeating: entry(try record()), count: count)).count == count)
        }
    }

    @Test func eachMemberIsWritten() throws {
        var entry = entry(
            try record(
                .post, "https://api.example/x%20y?a=1&b=%C3%BC+c&d",
                [("Cookie", "k=v; l=w"), ("Content-Type", "text/plain")],
                body: .bytes(ByteBuffer(string: "tell \"me\"\u{1}\n"))),
            try response(
                [("Content-Type", "text/html"), ("Set-Cookie", "s=t; Path=/"), ("Location", "/next")], body: "é\t"))
        entry.timings.dns = .milliseconds(2)
        entry.timings.wait = .microseconds(1500)
        entry.serverAddress = "192.0.2.1"
        entry.connection = "7"
        var writer = HARWriter(showsSecrets: true)
        #expect(
            text(writer.entry(entry)) == "\n" + #"{"startedDateTime":"2023-11-14T22:13:20.250Z","time":1234.567,"#
                + #""request":{"method":"POST","url":"https://api.example/x%20y?a=1&b=%C3%BC+c&d","#
                + #""httpVersion":"HTTP/1.1","cookies":[{"name":"k","value":"v"},{"name":"l","value":"w"}],"#
                + #""headers":[{"name":"Cookie","value":"k=v; l=w"},{"name":"Content-Type","value":"text/plain"}],"#
                + #""queryString":[{"name":"a","value":"1"},{"name":"b","value":"ü c"},{"name":"d","value":""}],"#
                + #""headersSize":-1,"bodySize":11,"#
                + #""postData":{"mimeType":"text/plain","text":"tell \"me\"\u0001\n"}},"#
                + #""response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","#
                + #""cookies":[{"name":"s","value":"t"}],"headers":[{"name":"Content-Type","value":"text/html"},"#
                + #"{"name":"Set-Cookie","value":"s=t; Path=/"},{"name":"Location","value":"/next"}],"#
                + #""content":{"size":3,"mimeType":"text/html","text":"é\t"},"redirectURL":"/next","headersSize":-1,"#
                + #""bodySize":-1},"cache":{},"#
                + #""timings":{"blocked":-1,"dns":2,"connect":-1,"ssl":-1,"send":0,"wait":1.5,"receive":0},"#
                + #""serverIPAddress":"192.0.2.1","connection":"7"}"#)
    }

    @Test func callWithoutAResponseIsWritten() throws {
        var entry = entry(try record())
        entry.failure = NightjarError(.connect, "unreachable")
        let value = try #require(try archive([entry]).first)
        #expect(value["response"]?["status"] == .integer(0))
        #expect(value["response"]?["content"]?["size"] == .integer(0))
        #expect(value["comment"] == .string("connect: unreachable"))
    }

    // MARK: Content

    @Test func binaryContentIsBase64() throws {
        let bytes = (0...255).map { UInt8($0) }
        let value = try #require(
            try archive([entry(try record(body: .bytes(ByteBuffer(bytes: bytes))), try response(body: Bytes(bytes)))])
                .first)
        let expected = JSONValue.string(Data(bytes).base64EncodedString())
        #expect(value["response"]?["content"]?["text"] == expected)
        #expect(value["response"]?["content"]?["encoding"] == .string("base64"))
        #expect(value["request"]?["postData"]?["text"] == expected)
        #expect(value["request"]?["postData"]?["comment"] == .string("in base64"))
    }

    @Test func contentIsBoundedAtCharacters() throws {
        let value = try #require(
            try archive(
                [entry(try record(body: .omitted(length: 9)), try response(body: "aéé"))], HARWriter(maximumBody: 4)
            ).first)
        #expect(value["response"]?["content"]?["text"] == .string("aé"))
        #expect(value["response"]?["content"]?["size"] == .integer(5))
        #expect(value["response"]?["content"]?["comment"] == .string("only the first 4 bytes"))
        #expect(value["request"]?["bodySize"] == .integer(9))
        #expect(value["request"]?["postData"]?["comment"] == .string("the body was streamed and was not kept"))
    }

    @Test func textsRoundTrip() throws {
        let text = String(decoding: (0...127).map { UInt8($0) }, as: UTF8.self) + "é\u{2028}\u{1F600}"
        let value = try #require(try archive([entry(try record(), try response(body: Bytes(text.utf8)))]).first)
        #expect(value["response"]?["content"]?["text"] == .string(text))
    }

    // MARK: Secrets

    @Test func secretsAreMaskedByDefault() throws {
        var entry = entry(
            try record(
                .post, "http://u:s3cret@a/?access_token=s3cret&page=2",
                [
                    ("Authorization", "Basic s3cret"), ("Cookie", "sid=s3cret"),
                    ("Content-Type", "application/x-www-form-urlencoded"),
                ], body: .bytes(ByteBuffer(string: "user=u&password=s3cret"))),
            try response(
                [
                    ("Set-Cookie", "sid=s3cret; HttpOnly"), ("Location", "/cb?code=s3cret#id_token=s3cret"),
                    ("Content-Type", "application/json; charset=utf-8"), ("X-Refresh-Token", "s3cret"),
                ], body: #"{"access_token": "s3cret", "expires_in": 3600}"#))
        entry.failure = NightjarError(.decoding, "not so")
        var masking = HARWriter()
        let masked = text(masking.entry(entry))
        #expect(!masked.contains("s3cret"))
        #expect(masked.contains(#"{\"access_token\": \"***\", \"expires_in\": 3600}"#))
        #expect(masked.contains(#"{"name":"page","value":"2"}"#))
        #expect(masked.contains(#"{"name":"Set-Cookie","value":"sid=***; HttpOnly"}"#))
        var showing = HARWriter(showsSecrets: true)
        #expect(text(showing.entry(entry)).components(separatedBy: "s3cret").count == 15)
    }
}
