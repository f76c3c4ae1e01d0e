import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct LimitTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func get(_ query: String) throws -> CurlResponse { try demo.curl("/v1/limited?\(query)") }

    @Test func windowAcceptsALimitedNumber() throws {
        let statuses = try (0..<3).map { _ in try get("limit=2&per=60&group=a").status }
        #expect(statuses == [200, 200, 429])
        #expect(try get("limit=2&per=60&group=b").status == 200)
        #expect(demo.server.statistics.limited == 1)
    }

    @Test func windowEnds() throws {
        // Both requests are sent together, so that they fall into the same window even on a slow machine.
        let client = try demo.connect()
        let request = "GET /v1/limited?limit=1&per=0.2 HTTP/1.1\r\nHost: x\r\n\r\n"
        try client.send(Bytes((request + request).utf8))
        #expect(Bytes(try client.receive(through: "\r\n\r\n")).text.contains(" 200 "))
        #expect(Bytes(try client.receive(through: "\r\n\r\n")).text.contains(" 429 "))
        try eventually("the window ended") { try get("limit=1&per=0.2").status == 200 }
    }

    @Test func retryAfterIsNeverTooShort() throws {
        let seconds = try get("limit=0&per=1.5&group=a")
        #expect(seconds["Retry-After"] == "2")
        let date = try get("limit=0&per=30&group=b&retry_after=date")
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        let due = try #require(formatter.date(from: date["Retry-After"] ?? ""))
        let now = try #require(formatter.date(from: date["Date"] ?? ""))
        #expect((30...32).contains(due.timeIntervalSince(now)))
        #expect(try get("limit=0&retry_after=none&group=c")["Retry-After"] == nil)
    }

    @Test func limitIsReportedInTheRequestedFields() throws {
        let query = "limit=5&per=60&group=g&fields="
        let eighth = try get(query + "draft8")
        #expect(eighth["RateLimit-Policy"] == #""g";q=5;w=60"#)
        #expect(eighth["RateLimit"] == #""g";r=4;t=60"#)
        let seventh = try get(query + "draft7")
        #expect(seventh["RateLimit-Policy"] == "5;w=60")
        #expect(seventh["RateLimit"] == "limit=5, remaining=3, reset=60")
        let old = try get(query + "x")
        #expect(old["X-RateLimit-Limit"] == "5")
        #expect(old["X-RateLimit-Remaining"] == "2")
        let reset = try #require(TimeInterval(old["X-RateLimit-Reset"] ?? ""))
        #expect((0...62).contains(reset - Date().timeIntervalSince1970))
        #expect(try get(query + "x-delta")["X-RateLimit-Reset"] == "60")
        #expect(try get(query + "none").headers.allSatisfy { !$0.name.contains("Limit") })
        #expect(try get(query + "other").status == 400)
        #expect(try get("group=%22").status == 400)
    }
}
