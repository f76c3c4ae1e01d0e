import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// Pages with the items of earlier pages: a server that repeats pages, or a list with equal items.
@Suite struct PageRepetitionTests {
    private typealias Reply = Conversation.Reply

    private func offset(_ target: PageTarget) -> Int { target.url.queryValue("offset").flatMap { Int($0) } ?? 0 }

    // MARK: Lists with equal items

    @Test func equalValuesWithNewPageNumbersAreDelivered() throws {
        for style in [Pagination.Style.page, .offset] {
            let talk = try Conversation(.plain(style))
            talk.read(["[1,1,1]", "[1,1,1]", "[2,2,2]", "[1,1,1]", "[]"])
            #expect(talk.items.count == 12 && talk.hasEnded, "\(style)")
        }
    }

    @Test func equalValuesWithNewCursorsAreDelivered() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read([
            #"{"items":[0,0],"next_cursor":"a"}"#, #"{"items":[0,0],"next_cursor":"b"}"#,
            #"{"items":[0,0],"next_cursor":null}"#,
        ])
        #expect(talk.items == Array(repeating: "0", count: 6) && talk.hasEnded)
    }

    @Test func singleValueMayRepeat() throws {
        let talk = try Conversation(.plain(.page))
        talk.read([#"["on"]"#, #"["on"]"#, #"["off"]"#, #"["on"]"#, "[]"])
        #expect(talk.items.count == 4 && talk.hasEnded)
    }

    @Test func equalObjectsOfOnePageMayRepeat() throws {
        let talk = try Conversation(.plain(.page))
        talk.read([#"[{"v":0},{"v":0}]"#, #"[{"v":0},{"v":0}]"#, "[]"])
        #expect(talk.items.count == 4 && talk.hasEnded)
    }

    // MARK: Repeated pages

    @Test func repeatedObjectsAreACycle() throws {
        let talk = try Conversation(.plain(.page))
        talk.read([#"[{"id":1}]"#, #"[{"id":1}]"#])
        #expect(talk.items.count == 1 && talk.error?.kind == .protocol)
    }

    @Test func threeRepeatedValuesAreACycle() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read([#"{"items":["a","b","c"],"next_cursor":"x"}"#, #"{"items":["a","b","c"],"next_cursor":"y"}"#])
        #expect(talk.items.count == 3)
        #expect(
            talk.message
                == "page 2 has the items of the previous page, byte for byte: the server returns to an earlier position"
        )
    }

    @Test func equalValuesWithTheSameCursorAreACycle() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read { _ in Reply(body: #"{"items":[1,1,1],"next_cursor":"a"}"#) }
        #expect(talk.items.count == 3 && talk.requested.count == 2)
        #expect(
            talk.message
                == "page 2 has the items of the previous page, byte for byte: the server returns to an earlier position"
        )
    }

    @Test func ignoredPageNumberIsACycle() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read { _ in Reply(body: #"{"items":[1,1],"page":1,"total_pages":9}"#) }
        #expect(talk.items.count == 2 && talk.error?.kind == .protocol)
    }

    // MARK: Servers that ignore the page number

    @Test func endlessEqualValuesAreDetected() throws {
        let talk = try Conversation(.plain(.page) { $0.parameter = "p" })
        talk.read { _ in Reply(body: "[1,1,1]") }
        #expect(talk.requested.count == 102)
        #expect(talk.error?.kind == .protocol)
        #expect(
            talk.message
                == "the 101 pages up to page 102 have the items of earlier pages, byte for byte: the server ignores the "
                + "query item \"p\", or starts again after its last page; set param, total or more")
    }

    @Test func cyclesOfEqualValuesAreDetected() throws {
        let talk = try Conversation(.plain(.offset))
        talk.read { target in Reply(body: offset(target) % 4 == 0 ? "[1,1]" : "[2,2]") }
        #expect(talk.requested.count == 103 && talk.error?.kind == .protocol)
    }

    @Test func totalOfEqualValuesIsVerifiedByOneMorePage() throws {
        func conversation() throws -> Conversation {
            try Conversation(.plain(.offset) { $0.total = try JSONPointer("/total") })
        }
        let page = #"{"items":[1,1],"total":4}"#
        let heeding = try conversation()
        heeding.read { target in offset(target) < 4 ? Reply(body: page) : Reply(body: #"{"items":[],"total":4}"#) }
        #expect(heeding.items.count == 4 && heeding.hasEnded && heeding.requested.count == 3)

        let ignoring = try conversation()
        ignoring.read { _ in Reply(body: page) }
        #expect(ignoring.items.count == 4 && !ignoring.hasEnded && ignoring.requested.count == 3)
        #expect(ignoring.error?.kind == .protocol)
    }

    @Test func notFoundAfterTheLastPageIsTheEnd() throws {
        let url = try RequestURL("https://api.example/list")
        for (status, ends) in [(404, true), (416, true), (503, false)] {
            var traversal = try PageTraversal(.plain(.offset) { $0.total = try JSONPointer("/total") }, first: url)
            var hasEnded = false
            var hasFailed = false
            for number in 1...3 {
                _ = traversal.needsPage()
                guard number == 3 else {
                    _ = traversal.received(
                        Headers(), body: ByteBuffer(string: #"{"items":[1,1],"total":4}"#), at: url)
                    continue
                }
                let response = Response(head: ResponseHead(status: status), body: ByteBuffer(), url: url)
                for action in traversal.failed(NightjarError(.client, "no", response: response)) {
                    if case .end = action { hasEnded = true }
                    if case .fail = action { hasFailed = true }
                }
            }
            #expect(hasEnded == ends && hasFailed != ends, "\(status)")
        }
    }

    @Test func distinctPagesNeedNoVerification() throws {
        let talk = try Conversation(.plain(.offset) { $0.total = try JSONPointer("/total") })
        talk.read([#"{"items":[1,2],"total":6}"#, #"{"items":[0,0],"total":6}"#, #"{"items":[0,0],"total":6}"#])
        #expect(talk.items.count == 6 && talk.hasEnded && talk.requested.count == 3)
    }
}
