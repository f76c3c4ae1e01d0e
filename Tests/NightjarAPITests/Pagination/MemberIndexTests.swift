import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct MemberIndexTests {
    private func index<Result>(_ text: String, _ body: (MemberIndex, Range<Int>) -> Result) -> Result {
        Array(text.utf8).withUnsafeBytes { bytes in
            let ranges = JSONRanges(bytes)
            return body(MemberIndex(ranges), ranges.document)
        }
    }

    @Test func indexAgreesWithTheScanner() {
        let text = #"{"a":{"b":[1,{"c":2}],"b":3},"\u0061":4,"é":5,"e\u0301":6,"":{"":7},"x/y":[8]}"#
        Array(text.utf8).withUnsafeBytes { bytes in
            let ranges = JSONRanges(bytes)
            let index = MemberIndex(ranges)
            for path in [
                [], ["a"], ["a", "b"], ["a", "b", "1", "c"], ["é"], ["e\u{301}"], ["", ""], ["x/y", "0"], ["x/y", "1"],
                ["no"], ["a", "no"], ["a", "b", "no"], ["é", "no"],
            ] {
                let found = ranges.value(at: JSONPointer(tokens: path), in: ranges.document)
                #expect(index.value(at: path, in: ranges.document) == found, "\(path)")
                #expect(index.value(at: path, in: ranges.document, amongFirst: true) == found, "\(path)")
            }
        }
    }

    @Test func eachObjectIsScannedOnce() {
        index(#"{"items":[{},{}],"meta":{"total":2},"links":{"next":null}}"#) { index, document in
            for _ in 0..<100 {
                for name in ["next", "total", "pages"] {
                    _ = index.value(at: [name], in: document)
                    _ = index.value(at: ["meta", name], in: document)
                    _ = index.value(at: ["links", name], in: document)
                }
            }
            #expect(index.passes == 3)
        }
    }

    @Test func membersBeyondTheBoundAreFoundOnlyByPointers() {
        let many = (0..<MemberIndex.limit).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        index("{\(many),\"next\":true}") { index, document in
            #expect(index.value(at: ["next"], in: document) != nil)
            #expect(index.value(at: ["next"], in: document, amongFirst: true) == nil)
            #expect(index.value(at: ["k\(MemberIndex.limit - 1)"], in: document, amongFirst: true) != nil)
            #expect(index.members(of: document).count == MemberIndex.limit)
        }
    }

    /// Compares the time with one pass over the same bytes, so the result does not depend on the machine or the build.
    @Test(arguments: ["", #","has_more":false"#])
    func largePageIsDetectedInFewPasses(flag: String) throws {
        let item = #"{"id":12345,"name":"\#(String(repeating: "n", count: 180))"}"#
        let body = #"{"data":["# + Array(repeating: item, count: 10_000).joined(separator: ",") + "]\(flag)}"
        #expect(body.utf8.count > 2_000_000)
        let clock = ContinuousClock()
        var (pass, loadedPage) = (Duration.seconds(3600), Duration.seconds(3600))
        let buffer = ByteBuffer(string: body)
        for _ in 0..<3 {
            pass = min(pass, clock.measure { _ = buffer.withUnsafeReadableBytes { JSONRanges($0).document } })
            var traversal = try PageTraversal(Pagination(.guess), first: RequestURL("https://api.example/list"))
            _ = traversal.needsPage()
            let url = try RequestURL("https://api.example/list")
            var actions: [PageTraversal.Action] = []
            loadedPage = min(
                loadedPage, clock.measure { actions = traversal.received(Headers(), body: buffer, at: url) })
            guard case .deliver(let page) = actions.first else {
                Issue.record("no page")
                return
            }
            #expect(page.items.count == 10_000)
        }
        // Checking, finding and extracting take about ten passes. A separate search for each name would take hundreds.
        #expect(loadedPage < pass * 60, "\(loadedPage) for the page, \(pass) for a pass")
    }
}
