import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// The position of a list must change from page to page, regardless of the items.
@Suite struct PageProgressTests {
    private typealias Reply = Conversation.Reply

    /// Returns two events, as in the Matrix API. Their age changes, so the same events have different bytes in each
    /// response.
    private func aged(_ count: inout Int, _ tail: String) -> Reply {
        count += 1
        return Reply(body: #"{"items":[{"id":"$1","age":\#(count)},{"id":"$2","age":\#(count + 7)}],\#(tail)}"#)
    }

    @Test func ignoredCursorIsAnError() throws {
        var count = 0
        let talk = try Conversation(.plain(.cursor) { $0.next = try JSONPointer("/end") })
        talk.read { _ in aged(&count, #""start":"s0","end":"t47""#) }
        #expect(talk.requested == ["/list", "/list?cursor=t47"])
        #expect(talk.error?.kind == .protocol && !talk.hasEnded)
        #expect(
            talk.message
                == "page 2 names itself as the next page, so the list would never end: the server ignores the query item "
                + "\"cursor\" or repeats its cursors; set param to the query item that takes the cursor")
    }

    @Test func eachStyleNeedsANewPosition() throws {
        let tails: [(Pagination.Style, String, [(String, String)])] = [
            (.cursor, #""next_cursor":"x""#, []), (.next, #""next":"/list?b""#, []), (.next, #""next":"/list""#, []),
            (.link, #""a":1"#, [("Link", "</list?b>; rel=next")]), (.header, #""a":1"#, [("X-N", "t")]),
        ]
        for (style, tail, headers) in tails {
            var count = 0
            let options = Pagination.plain(style) {
                $0.maximumPages = 50
                if style == .header {
                    $0.header = "X-N"
                    $0.parameter = "token"
                }
            }
            let talk = try Conversation(options)
            talk.read { _ in
                var response = aged(&count, tail)
                response.headers = headers
                return response
            }
            #expect(talk.requested.count <= 2 && talk.error?.kind == .protocol, "\(style) \(tail): \(talk.message)")
            #expect(talk.message.contains("names itself as the next page"), "\(style): \(talk.message)")
        }
    }

    @Test func ignoredPageNumberIsAnError() throws {
        var count = 0
        let talk = try Conversation(.plain(.guess) { $0.maximumPages = 50 })
        talk.read { _ in aged(&count, #""page":1,"total_pages":9"#) }
        #expect(talk.requested.count == 2 && talk.error?.kind == .protocol)
    }

    @Test func cyclicPositionsAreAnError() throws {
        var count = 0
        let talk = try Conversation(.plain(.cursor) { $0.maximumPages = 50 })
        talk.read { target in
            let at = target.url.queryValue("cursor") ?? "a"
            return aged(&count, #""next_cursor":"\#(at == "a" ? "b" : at == "b" ? "c" : "a")""#)
        }
        #expect(talk.requested == ["/list", "/list?cursor=b", "/list?cursor=c", "/list?cursor=a"])
        #expect(talk.message.hasPrefix("page 4 names an earlier page as the next page"))
    }

    @Test func itemsWithKeysDoNotHideARepeatedPosition() throws {
        var count = 0
        let talk = try Conversation(.plain(.cursor) { $0.key = try JSONPointer("/id") })
        talk.read { _ in
            count += 1
            return Reply(body: #"{"items":[{"id":\#(count)}],"next_cursor":"same"}"#)
        }
        #expect(talk.items.count == 1 && talk.error?.kind == .protocol)
    }

    @Test func emptyPageWithTheSameCursorEndsAFeed() throws {
        let feed = try Conversation(.plain(.cursor))
        feed.read([#"{"items":[1],"next_cursor":"a"}"#, #"{"items":[],"next_cursor":"a"}"#])
        #expect(feed.items == ["1"] && feed.hasEnded && feed.requested.count == 2)
        // If no earlier page has items, the server may ignore the query item.
        let empty = try Conversation(.plain(.cursor))
        empty.read([#"{"items":[],"next_cursor":"a"}"#, #"{"items":[],"next_cursor":"a"}"#])
        #expect(empty.error?.kind == .protocol && !empty.hasEnded)
        // The server reports that more items follow.
        let more = try Conversation(.plain(.cursor) { $0.more = try JSONPointer("/more") })
        more.read([#"{"items":[1],"next_cursor":"a","more":true}"#, #"{"items":[],"next_cursor":"a","more":true}"#])
        #expect(more.error?.kind == .protocol && !more.hasEnded)
    }

    @Test func reloadedPageIsNotARepetition() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next_cursor":"a"}"#) }
        // The body is padded, because `Conversation` may read the ranges of another page from this body.
        talk.read { _ in Reply(body: "no JSON" + String(repeating: " ", count: 60)) }
        #expect(talk.error?.kind == .decoding)
        talk.error = nil
        talk.read([#"{"items":[2],"next_cursor":null}"#])
        #expect(talk.hasEnded && talk.pages.count == 2)
        talk.perform(talk.traversal.refresh()) { _ in Reply(body: "") }
        talk.hasEnded = false
        talk.read([#"{"items":[1],"next_cursor":"a"}"#, #"{"items":[2],"next_cursor":null}"#])
        #expect(talk.error == nil && talk.hasEnded)
    }

    @Test func resumedListNeedsANewPosition() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read(1) { _ in Reply(body: #"{"items":[1],"next_cursor":"a"}"#) }
        var count = 0
        let resumed = try Conversation(.plain(.cursor), resuming: talk.traversal.state)
        resumed.read { _ in aged(&count, #""next_cursor":"a""#) }
        #expect(resumed.requested == ["/list?cursor=a"] && resumed.error?.kind == .protocol)
    }
}
