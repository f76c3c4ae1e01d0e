import NIOCore
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// A guess does not treat a part of a list as the whole: a sign of more pages leads to the next page or to an error.
@Suite struct PageIndicationTests {
    private typealias Reply = Conversation.Reply

    private func read(
        _ body: String, _ headers: [(String, String)] = [], at first: String = "https://api.example/list",
        _ change: (inout Pagination) throws -> Void = { _ in }
    ) throws -> Conversation {
        let talk = try Conversation(.plain(.guess, change), first)
        talk.read(1) { _ in Reply(body: body, headers: headers) }
        if talk.error == nil { talk.read { _ in Reply(body: #"{"items":[],"kvs":[],"data":[]}"#) } }
        return talk
    }

    @Test(arguments: [
        (#"{"items":[1,2],"IsTruncated":true,"Marker":"m"}"#, #"it says at "/IsTruncated" that more items follow"#),
        (#"{"items":[1,2],"truncated":true}"#, #"it says at "/truncated" that more items follow"#),
        (#"{"kvs":[{"key":"a"}],"more":true,"count":"208"}"#, #"it says at "/more" that more items follow"#),
        (#"{"items":[1,2],"page_info":{"has_next_page":true}}"#, #"says at "/page_info/has_next_page" that more"#),
        (#"{"items":[1,2],"count":208}"#, #"counts 208 items at "/count" and has 2"#),
        (#"{"items":[1,2],"meta":{"Total":3}}"#, #"counts 3 items at "/meta/Total" and has 2"#),
    ])
    func bodyWithMoreIndicatorIsNotComplete(body: String, reason: String) throws {
        let talk = try read(body)
        #expect(talk.error?.kind == .decoding && !talk.hasEnded && talk.items.isEmpty)
        #expect(
            talk.message.contains(reason.hasPrefix("it ") ? String(reason.dropFirst(3)) : reason), "\(talk.message)")
        #expect(talk.message.hasSuffix("; set style and param"))
    }

    @Test(arguments: [
        ("X-Total-Count", "208"), ("Total-Objects", "3"), ("X-WP-Total", "7"), ("X-Total-Pages", "2"),
    ])
    func headerWithGreaterTotalIsAnError(name: String, value: String) throws {
        let talk = try read("[1,2]", [(name, value)])
        #expect(
            talk.error?.kind == .decoding && talk.message.contains("\"\(name)\" counts \(value) "), "\(talk.message)")
    }

    @Test(arguments: [
        (#"{"items":[1,2],"count":2}"#, [("X-Total-Count", "2")]), (#"{"items":[1,2],"IsTruncated":false}"#, []),
        ("[1,2]", [("X-Total-Count", "")]), (#"{"items":[1,2],"count":1}"#, []),
    ])
    func bodyWithoutMoreIndicatorIsComplete(body: String, headers: [(String, String)]) throws {
        let talk = try read(body, headers)
        #expect(talk.hasEnded && talk.items == ["1", "2"], "\(talk.message)")
        #expect(talk.traversal.explanation.contains("so page 1 is the whole list"))
    }

    // MARK: A full page

    @Test func fullPageOfTheRequestedSizeIsAnError() throws {
        for first in ["?limit=3", "?per_page=3", "?n=3&x=1"] {
            let talk = try read("[1,2,3]", at: "https://api.example/list" + first)
            #expect(
                talk.message
                    == "the next page cannot be determined, although page 1 has exactly the 3 items that were requested; "
                    + "set style and param")
        }
        let sized = try read("[1,2,3]") {
            $0.size = 3
            $0.sizeParameter = "limit"
        }
        #expect(sized.error?.kind == .decoding)
    }

    @Test func fullLastPageIsTheCompleteList() throws {
        let cases: [(String, [(String, String)])] = [
            ("[1,2,3]", [("X-Total-Count", "3")]), (#"{"items":[1,2,3],"total":3}"#, []),
            (#"{"items":[1,2,3],"has_more":false}"#, []), ("[1,2,3]", [("Link", "</list?page=1>; rel=first")]),
            ("[1,2,3]", [("X-Next-Page", "")]), (#"{"items":[1,2,3],"next":null}"#, []),
        ]
        for (body, headers) in cases {
            let talk = try read(body, headers, at: "https://api.example/list?limit=3")
            #expect(talk.hasEnded && talk.items.count == 3, "\(body) \(headers): \(talk.message)")
        }
        let shorter = try read("[1,2]", at: "https://api.example/list?limit=3")
        #expect(shorter.hasEnded && shorter.items.count == 2)
    }

    // MARK: The next request is known

    @Test func positionOfTheFirstRequestDeterminesTheNext() throws {
        let offset = try Conversation(.plain(.guess), "https://api.example/list?limit=2&offset=4")
        offset.read(["[5,6]", "[7,8]", "[9]", "[]"])
        #expect(
            offset.requested == [
                "/list?limit=2&offset=4", "/list?limit=2&offset=6", "/list?limit=2&offset=8", "/list?limit=2&offset=9",
            ])
        #expect(offset.items.count == 5 && offset.hasEnded)
        #expect(
            offset.traversal.explanation
                == "guessed: the response itself is the list, page 1 has exactly the 2 items that were requested and the query "
                + "item \"offset\" requests the next page")
        let page = try Conversation(.plain(.guess), "https://api.example/list?page=2")
        page.read([#"{"data":[1,2],"count":208}"#, #"{"data":[3]}"#, #"{"data":[]}"#])
        #expect(page.requested == ["/list?page=2", "/list?page=3", "/list?page=4"] && page.items.count == 3)
    }

    @Test func laterFirstPageReachesTheTotal() throws {
        let talk = try read(#"{"items":[7,8],"total":8}"#, at: "https://api.example/list?offset=6&limit=2")
        #expect(talk.hasEnded && talk.items == ["7", "8"], "\(talk.message)")
    }

    @Test func timeInTheQueryIsNotAPosition() throws {
        let talk = try read("[1,2]", at: "https://api.example/list?start=1700000000&limit=2")
        #expect(talk.error?.kind == .decoding)
    }

    @Test func headerWithTheNextURLIsFollowed() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read { target in
            target.url.target == "/list"
                ? Reply(body: #"{"data":[1]}"#, headers: [("Next-Page", "https://api.example/list?_token=a")])
                : Reply(body: #"{"data":[2]}"#)
        }
        #expect(talk.requested == ["/list", "/list?_token=a"] && talk.items == ["1", "2"] && talk.hasEnded)
        #expect(
            talk.traversal.explanation
                == #"guessed: the items are at "/data" and the header field "Next-Page" has the URL of the next page"#)
        // A saved position contains the name of the header field.
        let started = try Conversation(.plain(.guess))
        let server = { (target: PageTarget) in
            Reply(
                body: "[\(target.url.target.utf8.count)]",
                headers: target.url.target.utf8.count > 7 ? [] : [("Next-Page", target.url.target + "x")])
        }
        started.read(1, from: server)
        let resumed = try Conversation(.plain(.guess), resuming: started.traversal.state)
        resumed.read(from: server)
        #expect(resumed.requested == ["/listx", "/listxx", "/listxxx"] && resumed.hasEnded, "\(resumed.message)")
    }

    @Test func namedHeaderMayContainTheURL() throws {
        let url = try Conversation(.plain(.header) { $0.header = "Next-Page" })
        url.read { target in
            Reply(
                body: "[1,\(target.url.target.utf8.count)]",
                headers: target.url.target == "/list" ? [("Next-Page", "/b?c")] : [])
        }
        #expect(url.requested == ["/list", "/b?c"] && url.hasEnded)
        let token = try Conversation(.plain(.header) { $0.header = "Next-Page" })
        token.read { _ in Reply(body: "[1]", headers: [("Next-Page", "abc")]) }
        #expect(
            token.message == "page 1 has no URL in its header field \"Next-Page\"; set param or request_header to the "
                + "item or field that sends the value back, or next_header if the value is a relative URL")
    }

    @Test func nextHeaderContainsAnyURL() throws {
        let talk = try Conversation(.plain(.guess) { $0.nextHeader = "X-Next-Page" }, "https://api.example/v1/list?a=1")
        let next = [
            "/v1/list?a=1": "part2", "/v1/part2": "?page=3", "/v1/part2?page=3": "https://api.example/end",
            "/end": "", "/v1/list": "",
        ]
        talk.read { target in
            Reply(
                body: "[\(target.url.target.utf8.count)]",
                headers: next[target.url.target].map { [("x-next-page", $0)] } ?? [])
        }
        #expect(talk.error == nil)
        #expect(talk.requested == ["/v1/list?a=1", "/v1/part2", "/v1/part2?page=3", "/end"] && talk.hasEnded)
    }

    @Test func nextHeaderHasTheRulesOfOtherURLs() throws {
        for (url, reason) in [
            ("https://evil.example/p", "next page is at \"https://evil.example\""),
            ("http://api.example/p", "does not use TLS"), ("https://[", "the URL of its next page is invalid"),
        ] {
            let talk = try Conversation(.plain(.guess) { $0.nextHeader = "X-Next" })
            talk.read { _ in Reply(body: "[1]", headers: [("X-Next", url)]) }
            #expect(talk.requested == ["/list"] && talk.error?.kind == .protocol, "\(url)")
            #expect(talk.message.contains(reason), "\(talk.message)")
        }
        let loop = try Conversation(.plain(.header) { $0.nextHeader = "X-Next" })
        loop.read { target in
            Reply(
                body: "[\"\(target.url.target)\"]", headers: [("X-Next", target.url.target == "/list" ? "b" : "list")])
        }
        #expect(loop.error?.kind == .protocol && loop.requested.count <= 3)
    }

    @Test func nextHeaderIsTheOnlyIndication() throws {
        let others: [(String, (inout Pagination) throws -> Void)] = [
            ("header", { $0.header = "X-Other" }), ("next", { $0.next = try JSONPointer("/next") }),
            ("param", { $0.parameter = "p" }), ("request_header", { $0.requestHeader = "X" }),
            ("body_param", { $0.bodyParameter = try JSONPointer("/p") }),
        ]
        for (name, change) in others {
            let error = #expect(throws: NightjarError.self) {
                _ = try Conversation(
                    .plain(.guess) {
                        $0.nextHeader = "X-Next"
                        try change(&$0)
                    })
            }
            #expect(error?.message == "only one of next_header and \(name) may be set")
        }
        let style = #expect(throws: NightjarError.self) { try Conversation(.plain(.link) { $0.nextHeader = "X" }) }
        #expect(style?.message == "next_header requires the style header, got link; remove style")
        let name = #expect(throws: NightjarError.self) { try Conversation(.plain(.guess) { $0.nextHeader = "a b" }) }
        #expect(name?.message == "next_header must be the name of a header field, got \"a b\"")
        let talk = try Conversation(.plain(.guess) { $0.nextHeader = "X-Next" })
        talk.read(1) { _ in Reply(body: "[1]", headers: [("X-Next", "b?c=1")]) }
        let state = talk.traversal.state
        let again = try Conversation(.plain(.guess) { $0.nextHeader = "X-Next" }, resuming: state)
        again.read { _ in Reply(body: "[2]") }
        #expect(again.requested == ["/b?c=1"])
    }

    // MARK: Declared parameters

    private func operation(_ names: [String], start: Int64? = nil) -> Operation {
        var operation = Operation("list", .get, "/list")
        operation.parameters = names.map { name in
            var parameter = Parameter(name, in: .query)
            if name == "page" { parameter.defaultValue = start.map { .integer($0) } }
            return parameter
        }
        return operation
    }

    @Test func cursorIsSentInTheParameterOfTheEndpoint() throws {
        let openAI = [
            #"{"object":"list","data":[{"id":"a"},{"id":"b"}],"first_id":"a","last_id":"b","has_more":true}"#,
            #"{"object":"list","data":[{"id":"c"}],"first_id":"c","last_id":"c","has_more":false}"#,
        ]
        let cases: [([String], [String], String)] = [
            (["limit", "order", "after", "before"], openAI, "after=b"), ([], openAI, "after=b"),
            (["limit", "after_id", "before_id"], openAI, "after_id=b"),
            (
                ["limit", "after"], [#"{"data":[{"id":"a"}],"has_more":true}"#, #"{"data":[],"has_more":false}"#],
                "after=a"
            ),
            (
                ["from", "limit"], [#"{"users":[1],"next_token":"5","total":2}"#, #"{"users":[2],"total":2}"#], "from=5"
            ),
            (["next_token"], [#"{"users":[1],"next_token":"5"}"#, #"{"users":[2]}"#], "next_token=5"),
        ]
        for (declared, responses, requested) in cases {
            let talk = try Conversation(Pagination.plain(.guess).guessing(by: operation(declared)))
            talk.read(responses)
            #expect(talk.requested == ["/list", "/list?" + requested] && talk.hasEnded, "\(declared) \(talk.message)")
        }
        let explicit = try Conversation(
            Pagination.plain(.cursor) { $0.next = try JSONPointer("/end") }.guessing(by: operation(["from", "dir"])))
        explicit.read([#"{"chunk":[1],"end":"t1"}"#, #"{"chunk":[2]}"#])
        #expect(explicit.requested == ["/list", "/list?from=t1"])
        #expect(
            explicit.traversal.explanation
                == #"guessed: the items are at "/chunk" and the query item "from" takes the cursor"#)
    }

    @Test func pageParameterIsUsedIfItsStartIsKnown() throws {
        let body = #"{"data":[1,2],"count":3}"#
        let offset = try Conversation(Pagination.plain(.guess).guessing(by: operation(["offset", "limit"])))
        offset.read([body, #"{"data":[3]}"#, #"{"data":[]}"#])
        #expect(offset.requested == ["/list", "/list?offset=2", "/list?offset=3"] && offset.items.count == 3)
        let page = try Conversation(Pagination.plain(.guess).guessing(by: operation(["page"], start: 1)))
        page.read([body, #"{"data":[3]}"#, #"{"data":[]}"#])
        #expect(page.requested == ["/list", "/list?page=2", "/list?page=3"] && page.items.count == 3)
        for start in [nil, 0] as [Int64?] {
            let unknown = try Conversation(Pagination.plain(.guess).guessing(by: operation(["page"], start: start)))
            unknown.read([body])
            #expect(unknown.error?.kind == .decoding)
        }
    }

    // MARK: Pages without items

    @Test func pageWithoutItemsIsDelivered() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read([
            #"{"items":[],"next_cursor":"a"}"#, #"{"items":[1],"next_cursor":"b"}"#,
            #"{"items":[],"next_cursor":null}"#,
        ])
        #expect(talk.pages == [[], ["1"], []] && talk.delivered.map(\.number) == [1, 2, 3] && talk.hasEnded)
        #expect(talk.delivered[0].state(consumed: 0) == talk.delivered[1].state(consumed: 0))
        let first = try Conversation(.plain(.page))
        first.read(["[]"])
        #expect(first.pages == [[]] && first.hasEnded)
    }

    @Test func finalEmptyPageOfANumberedListIsNotDelivered() throws {
        for style in [Pagination.Style.page, .offset] {
            let talk = try Conversation(.plain(style))
            talk.read(["[1]", "[2]", "[]"])
            #expect(talk.pages == [["1"], ["2"]] && talk.hasEnded && talk.requested.count == 3, "\(style)")
        }
    }

    @Test func notModifiedIsAPageWithoutItems() throws {
        for style in [Pagination.Style.guess, .page, .cursor, .link] {
            var traversal = try PageTraversal(.plain(style), first: RequestURL("https://api.example/list"))
            _ = traversal.needsPage()
            let actions = traversal.received(Headers(), status: 304, body: ByteBuffer(), at: traversal.first)
            guard case .deliver(let page)? = actions.first else {
                Issue.record("\(style): \(actions)")
                continue
            }
            #expect(page.items.isEmpty && page.number == 1)
            guard case .end? = traversal.needsPage().first else {
                Issue.record("\(style) does not end")
                continue
            }
        }
        var traversal = try PageTraversal(.plain(.page), first: RequestURL("https://api.example/list"))
        _ = traversal.needsPage()
        _ = traversal.received(Headers(), body: ByteBuffer(string: "[1]"), at: traversal.first)
        _ = traversal.needsPage()
        let actions = traversal.received(Headers(), status: 304, body: ByteBuffer(), at: traversal.first)
        guard case .fail(let error)? = actions.first else { throw NightjarError(.decoding, "page 2 was taken") }
        #expect(error.kind == .decoding)
    }
}
