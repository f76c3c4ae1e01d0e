import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

@Suite struct PageGuessTests {
    private typealias Reply = Conversation.Reply

    /// The bodies of the first and second page, the second request, and the explanation of the guess.
    static let shapes: [(name: String, first: String, second: String, requested: String, explanation: String)] = [
        (
            "Django REST", #"{"count":3,"next":"https://api.example/list?page=2","previous":null,"results":[1,2]}"#,
            #"{"count":3,"next":null,"previous":"x","results":[3]}"#, "/list?page=2",
            #"guessed: the items are at "/results" and the URL of the next page is at "/next""#
        ),
        (
            "Laravel", #"{"current_page":1,"data":[1,2],"next_page_url":"/list?page=2","last_page":2,"total":3}"#,
            #"{"current_page":2,"data":[3],"next_page_url":null,"last_page":2,"total":3}"#, "/list?page=2",
            #"guessed: the items are at "/data" and the URL of the next page is at "/next_page_url""#
        ),
        (
            "JSON:API", #"{"data":[1,2],"links":{"self":"/list","next":"/list?page[number]=2"}}"#,
            #"{"data":[3],"links":{"self":"/list"}}"#, "/list?page%5Bnumber%5D=2",
            #"guessed: the items are at "/data" and the URL of the next page is at "/links/next""#
        ),
        (
            "HAL", #"{"_embedded":{"orders":[1,2]},"_links":{"next":{"href":"/list?page=2"}}}"#,
            #"{"_embedded":{"orders":[3]},"_links":{}}"#, "/list?page=2",
            #"guessed: the items are at "/_embedded/orders" and the URL of the next page is at "/_links/next/href""#
        ),
        (
            "OData", #"{"@odata.context":"c","value":[1,2],"@odata.nextLink":"https://api.example/list?$skiptoken=7"}"#,
            #"{"@odata.context":"c","value":[3]}"#, "/list?$skiptoken=7",
            #"guessed: the items are at "/value" and the URL of the next page is at "/@odata.nextLink""#
        ),
        (
            "Facebook", #"{"data":[1,2],"paging":{"cursors":{"after":"a"},"next":"https://api.example/list?after=a"}}"#,
            #"{"data":[3],"paging":{"cursors":{"after":"b"}}}"#, "/list?after=a",
            #"guessed: the items are at "/data" and the URL of the next page is at "/paging/next""#
        ),
        (
            "a cursor", #"{"items":[1,2],"next_cursor":"c2"}"#, #"{"items":[3],"next_cursor":null}"#, "/list?cursor=c2",
            #"guessed: the items are at "/items", the cursor is at "/next_cursor" and the query item "cursor" takes the cursor"#
        ),
        (
            "Slack", #"{"ok":true,"members":[1,2],"response_metadata":{"next_cursor":"dXNlcg=="}}"#,
            #"{"ok":true,"members":[3],"response_metadata":{"next_cursor":""}}"#, "/list?cursor=dXNlcg%3D%3D",
            #"guessed: the items are at "/members", the cursor is at "/response_metadata/next_cursor" and the query item "cursor" takes the cursor"#
        ),
        (
            "Google", #"{"kind":"k","items":[1,2],"nextPageToken":"t"}"#, #"{"kind":"k","items":[3]}"#,
            "/list?pageToken=t",
            #"guessed: the items are at "/items", the cursor is at "/nextPageToken" and the query item "pageToken" takes the cursor"#
        ),
        (
            "Kubernetes", #"{"kind":"PodList","items":[1,2],"metadata":{"continue":"t"}}"#,
            #"{"kind":"PodList","items":[3],"metadata":{}}"#, "/list?continue=t",
            #"guessed: the items are at "/items", the cursor is at "/metadata/continue" and the query item "continue" takes the cursor"#
        ),
        (
            "Stripe", #"{"object":"list","data":[{"id":"a"},{"id":"b"}],"has_more":true}"#,
            #"{"object":"list","data":[{"id":"c"}],"has_more":false}"#, "/list?starting_after=b",
            #"guessed: the items are at "/data", "/has_more" says whether more items follow and the query item "starting_after" takes the id of the last item"#
        ),
        (
            "numbered pages", #"{"items":[1,2],"page":1,"total_pages":2}"#, #"{"items":[3],"page":2,"total_pages":2}"#,
            "/list?page=2",
            #"guessed: the items are at "/items", the page number is at "/page" and the query item "page" requests the next page"#
        ),
        (
            "pages counted from 0", #"{"items":[1,2],"page":0,"has_next":true}"#,
            #"{"items":[3],"page":1,"has_next":false}"#,
            "/list?page=1",
            #"guessed: the items are at "/items", the page number is at "/page" and the query item "page" requests the next page"#
        ),
        (
            "Jira", #"{"startAt":0,"maxResults":2,"total":3,"issues":[1,2]}"#,
            #"{"startAt":2,"maxResults":2,"total":3,"issues":[3]}"#,
            "/list?startAt=2",
            #"guessed: the items are at "/issues", the offset of the first item is at "/startAt" and the query item "startAt" requests the next page"#
        ),
        (
            "a next page by its number", #"{"items":[1,2],"meta":{"next_page":2}}"#,
            #"{"items":[3],"meta":{"next_page":null}}"#,
            "/list?page=2",
            #"guessed: the items are at "/items", the cursor is at "/meta/next_page" and the query item "page" takes the cursor"#
        ),
    ]

    @Test(arguments: shapes.indices)
    func commonShapesAreDetected(index: Int) throws {
        let shape = PageGuessTests.shapes[index]
        let talk = try Conversation(.plain(.guess))
        talk.read([shape.first, shape.second])
        #expect(talk.error == nil && talk.hasEnded, "\(shape.name): \(talk.message)")
        #expect(talk.pages.map(\.count) == [2, 1], "\(shape.name)")
        #expect(talk.requested == ["/list", shape.requested], "\(shape.name)")
        #expect(talk.traversal.explanation == shape.explanation)
    }

    @Test func linkFieldOverridesTheBody() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read { target in
            target.url.target == "/list"
                ? Reply(body: #"{"items":[1],"next_cursor":"c"}"#, headers: [("Link", "</list?b>; rel=next")])
                : Reply(body: #"{"items":[2],"next_cursor":"c"}"#)
        }
        #expect(talk.requested == ["/list", "/list?b"])
        #expect(
            talk.traversal.explanation == #"guessed: the items are at "/items" and a Link field names the next page"#)
    }

    @Test func listWithoutHintsIsCompleteAndNoted() throws {
        for body in ["[1,2,3]", #"{"items":[1,2,3]}"#, #"{"things":[1,2,3],"total":3}"#, list(1...100)] {
            let talk = try Conversation(.plain(.guess))
            talk.read([body])
            #expect(talk.hasEnded && talk.error == nil && !talk.items.isEmpty)
            #expect(
                talk.traversal.explanation.hasSuffix(
                    "and nothing in the response says that more items follow, so page 1 is the whole list"))
        }
    }

    @Test(arguments: [
        (#"{"next":null,"results":[1]}"#, "/next"), (#"{"results":[1],"links":{"next":null}}"#, "/links/next"),
    ])
    func listMarkedAsCompleteEnds(body: String, place: String) throws {
        let talk = try Conversation(.plain(.guess))
        talk.read([body])
        #expect(talk.hasEnded && talk.items == ["1"] && talk.traversal.explanation.contains("\"\(place)\""))
    }

    @Test func undetectedStyleNamesTheOption() throws {
        let cases = [
            (
                #"{"a":1}"#,
                "page 1 contains no list: it is an object without an array; set items to the location of the list"
            ),
            ("7", "page 1 contains no list: it is a number without an array; set items to the location of the list"),
            ("", "page 1 has no content, but a list was expected"),
            (#"{"a":[1],"b":[2]}"#, #"page 1 has several arrays ("/a", "/b"); set items to the location of the list"#),
            (
                #"{"items":[1,2],"total":57}"#,
                #"the next page cannot be determined, although page 1 counts 57 items at "/total" and has 2; set style and param"#
            ),
            (
                #"{"items":[1,2],"has_more":true}"#,
                #"the next page cannot be determined, although page 1 says at "/has_more" that more items follow; set style and param"#
            ),
            (
                #"{"items":[1,2],"next":"abc"}"#,
                #"the next page cannot be determined: the value at "/next" of page 1 is not a URL; set style, next and param"#
            ),
        ]
        for (body, message) in cases {
            let talk = try Conversation(.plain(.guess))
            talk.read([body])
            #expect(talk.error?.kind == .decoding && talk.message == message)
        }
    }

    @Test func lastItemIDIsTheCursorRegardlessOfTheKey() throws {
        let talk = try Conversation(.plain(.guess) { $0.key = try JSONPointer("/number") })
        talk.read([
            #"{"data":[{"id":"a","number":6},{"id":"b","number":7}],"has_more":true}"#,
            #"{"data":[{"id":"c","number":8}],"has_more":false}"#,
        ])
        #expect(talk.requested == ["/list", "/list?starting_after=b"] && talk.items.count == 3 && talk.hasEnded)
        #expect(talk.traversal.explanation.hasSuffix(#""starting_after" takes the id of the last item"#))
    }

    @Test func optionsOfTheCallerDisableDetection() throws {
        let options = try Pagination.plain(.cursor) {
            $0.items = try JSONPointer("/b")
            $0.next = try JSONPointer("/c")
        }
        let talk = try Conversation(options)
        talk.read([#"{"a":[1],"b":[2],"c":""}"#])
        #expect(talk.items == ["2"] && talk.traversal.explanation.isEmpty)
    }

    @Test func namedNextIsACursorOrAURL() throws {
        let cursor = try Conversation(.plain(.guess) { $0.next = try JSONPointer("/n") })
        cursor.read([#"{"items":[1],"n":"abc"}"#, #"{"items":[2]}"#])
        #expect(cursor.requested == ["/list", "/list?cursor=abc"])
        let url = try Conversation(.plain(.guess) { $0.next = try JSONPointer("/n") })
        url.read([#"{"items":[1],"n":"/x?y"}"#, #"{"items":[2]}"#])
        #expect(url.requested == ["/list", "/x?y"])
    }
}
