import NightjarTestSupport
import Testing

@testable import NightjarDemo

/// `/file`: ranges and conditions (RFC 9110 section 14), and faults.
struct FileTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func content(_ size: Int, _ parameters: String = "") throws -> [UInt8] {
        try demo.fetch("/file?size=\(size)\(parameters)").body
    }

    private func log(_ run: String) throws -> [[String: Any]] {
        try demo.fetch("/__transfers/\(run)").json["requests"] as? [[String: Any]] ?? []
    }

    @Test func contentDependsOnSizeAndSeed() throws {
        let content = try content(100_000)
        #expect(content.count == 100_000)
        #expect(try self.content(100_000) == content)
        #expect(try self.content(100_000, "&seed=2") != content)
        #expect(Set([0, 32_768, 65_536].map { Array(content[$0..<($0 + 8)]) }).count == 3)
    }

    /// The status, Content-Range and bytes of a response with a content of 100 bytes.
    struct Part: Sendable {
        let status: Int
        let field: String?
        let bytes: Range<Int>

        init(_ bytes: Range<Int>) {
            (status, self.bytes) = (206, bytes)
            field = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/100"
        }

        init() { (status, field, bytes) = (200, nil, 0..<100) }
    }

    static let ranges: [RFCRow<String, Part>] = [
        RFCRow("14.1.2", "first and last position", "bytes=0-9", Part(0..<10)),
        RFCRow("14.1.2", "without a last position", "bytes=90-", Part(90..<100)),
        RFCRow("14.1.2", "a suffix", "bytes=-10", Part(90..<100)),
        RFCRow("14.1.2", "a suffix that is longer than the content", "bytes=-1000", Part(0..<100)),
        RFCRow("14.1.2", "a last position after the end", "bytes=90-1000", Part(90..<100)),
        RFCRow("14.2", "an unknown unit is ignored", "items=0-9", Part()),
        RFCRow("14.1.1", "a last position before the first one is invalid", "bytes=9-0", Part()),
        RFCRow("14.2", "several ranges may be ignored", "bytes=0-1,5-6", Part()),
    ]

    @Test(arguments: ranges) func rangeIsSent(_ row: RFCRow<String, Part>) throws {
        let response = try demo.fetch("/file?size=100", "Range: \(row.input)\r\n")
        #expect(response.status == row.expected.status, "\(row)")
        #expect(response["content-range"] == row.expected.field, "\(row)")
        #expect(try response.body == Array(content(100)[row.expected.bytes]), "\(row)")
    }

    @Test func unsatisfiableRangeHasTheLength() throws {
        let response = try demo.fetch("/file?size=100", "Range: bytes=100-\r\n")
        #expect(response.status == 416)
        #expect(response["content-range"] == "bytes */100")
    }

    @Test func severalRangesAreMultipartOnRequest() throws {
        let response = try demo.fetch("/file?size=100&multiple=multipart", "Range: bytes=0-1,5-6\r\n")
        #expect(response.status == 206)
        #expect(response["content-type"]?.hasPrefix("multipart/byteranges; boundary=") == true)
        let text = String(decoding: response.body.map { $0 < 128 ? $0 : 0x3F }, as: UTF8.self)
        #expect(text.contains("Content-Range: bytes 0-1/100\r\n"))
        #expect(text.contains("Content-Range: bytes 5-6/100\r\n"))
    }

    @Test func rangeRequiresAMatchingIfRange() throws {
        let tag = try #require(demo.fetch("/file?size=100")["etag"])
        func status(_ path: String, _ condition: String) throws -> Int {
            try demo.fetch(path, "Range: bytes=5-\r\nIf-Range: \(condition)\r\n").status
        }
        #expect(try status("/file?size=100", tag) == 206)
        #expect(try status("/file?size=100", "\"other\"") == 200)
        #expect(try status("/file?size=100&etag=weak", "W/\(tag)") == 200)
        #expect(try status("/file?size=100&etag=none", "Tue, 14 Nov 2023 22:13:20 GMT") == 206)
        #expect(try status("/file?size=100&etag=none", "Tue, 14 Nov 2023 22:13:21 GMT") == 200)
    }

    @Test func digestsAreThoseOfTheContent() throws {
        let whole = try demo.fetch("/file?size=100&repr_digest=right&content_digest=right")
        #expect(whole["repr-digest"] == whole["content-digest"])
        let part = try demo.fetch("/file?size=100&repr_digest=right&content_digest=right", "Range: bytes=5-\r\n")
        #expect(part["repr-digest"] == whole["repr-digest"])
        #expect(part["content-digest"] != whole["content-digest"])
        #expect(try demo.fetch("/file?size=100&repr_digest=wrong")["repr-digest"] != whole["repr-digest"])
        let description = try demo.fetch("/__file?size=100").json
        #expect(description["sha256"] as? String == Hash.sha256(whole.body).hexadecimal)
    }

    @Test func contentChangesAfterRequests() throws {
        let path = "/file?size=100&run=change&change_after=2"
        let responses = try (0..<3).map { _ in try demo.fetch(path) }
        #expect(responses[0].body == responses[1].body)
        #expect(responses[2].body != responses[0].body)
        #expect(responses[2]["etag"] != responses[0]["etag"])
        let kept = try (0..<2).map { _ in try demo.fetch("/file?size=100&run=kept&change_after=1&change_etag=same") }
        #expect(kept[0].body != kept[1].body)
        #expect(kept[0]["etag"] == kept[1]["etag"])
    }

    @Test func faultsAreAppliedInOrderAndLogged() throws {
        let path = "/file?size=1000&run=faults&faults=cut@10,503@7,range-gap@5,cut-head@30"
        let cut = try demo.fetch(path)
        #expect(cut.body.count == 10)
        #expect(cut["content-length"] == "1000")
        let unavailable = try demo.fetch(path)
        #expect(unavailable.status == 503)
        #expect(unavailable["retry-after"] == "7")
        let gap = try demo.fetch(path, "Range: bytes=100-199\r\n")
        #expect(gap["content-range"] == "bytes 105-199/1000")
        #expect(gap.body.count == 95)
        let client = try demo.begin("GET", path, type: "text/plain", body: "")
        defer { client.close() }
        #expect(try client.receiveToEnd().count == 30)
        #expect(try demo.fetch(path).body.count == 1000)
        let requests = try log("faults")
        #expect(requests.map { $0["body_bytes"] as? Int } == [10, 0, 95, 0, 1000])
        #expect(requests.map { $0["fault"] as? String } == ["cut", "503", "range-gap", "cut-head", nil])
        #expect(requests[2]["range"] as? String == "bytes=100-199")
    }

    @Test(
        arguments: [
            "/file?faults=cut@-9223372036854775808", "/file?faults=cut,unknown", "/file?kinds=unknown",
            "/file?size=1000000000000&repr_digest=right", "/file?change_size=1000000000000&content_digest=right",
            "/__file?size=1000000000000", "/file?disposition=a%0Db",
        ])
    func invalidParameterIsRejected(_ path: String) throws {
        #expect(try demo.fetch(path).status == 400)
    }

    @Test func randomFaultsDependOnTheSeedAndEnd() throws {
        func faults(_ run: String, seed: Int) throws -> [String?] {
            for _ in 0..<30 {
                _ = try? demo.fetch("/file?size=1000&run=\(run)&random=\(seed)&count=5&kinds=503,416,close")
            }
            return try log(run).map { $0["fault"] as? String }
        }
        let first = try faults("a", seed: 1)
        #expect(first.compactMap { $0 }.count == 5)
        #expect(try faults("b", seed: 1) == first)
        #expect(try faults("c", seed: 2) != first)
    }
}
