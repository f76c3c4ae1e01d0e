import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// The continuation and the end of each style, as in the table of ``PageTraversal``.
@Suite struct PageStyleTests {
    private typealias Reply = Conversation.Reply

    @Test func pagesAreNumbered() throws {
        let talk = try Conversation(.plain(.page), "https://api.example/list?tag=a%20b")
        talk.read(["[1,2]", "[3,4]", "[]"])
        #expect(talk.items == ["1", "2", "3", "4"])
        #expect(talk.requested == ["/list?tag=a%20b&page=1", "/list?tag=a%20b&page=2", "/list?tag=a%20b&page=3"])
        #expect(talk.hasEnded && talk.error == nil)
    }

    @Test func firstPageNumberAndSizeAreConfigurable() throws {
        let options = Pagination.plain(.page) {
            $0.first = 0
            $0.parameter = "p"
            $0.sizeParameter = "per_page"
            $0.size = 2
        }
        let talk = try Conversation(options)
        talk.read(["[1,2]", "[]"])
        #expect(talk.requested == ["/list?per_page=2&p=0", "/list?per_page=2&p=1"])
    }

    @Test func firstPageIsThatOfTheRequest() throws {
        let talk = try Conversation(.plain(.page), "https://api.example/list?page=7&x=1")
        talk.read(["[1]", "[]"])
        #expect(talk.requested == ["/list?page=7&x=1", "/list?page=8&x=1"])
    }

    @Test func totalEndsTheList() throws {
        let options = try Pagination.plain(.page) { $0.total = try JSONPointer("/total") }
        let talk = try Conversation(options)
        talk.read([#"{"items":[1,2],"total":3}"#, #"{"items":[3],"total":3}"#])
        #expect(talk.items == ["1", "2", "3"] && talk.hasEnded && talk.requested.count == 2)
    }

    @Test func shortPageIsNotTheEnd() throws {
        let options = Pagination.plain(.page) {
            $0.sizeParameter = "limit"
            $0.size = 3
        }
        let talk = try Conversation(options)
        talk.read(["[1,2,3]", "[4]", "[5,6,7]", "[]"])
        #expect(talk.items.count == 7 && talk.hasEnded)
    }

    @Test func offsetsCountReceivedItems() throws {
        let talk = try Conversation(.plain(.offset), "https://api.example/list?offset=10")
        talk.read(["[1,2,3]", "[4]", "[]"])
        #expect(talk.requested == ["/list?offset=10", "/list?offset=13", "/list?offset=14"])
        #expect(talk.items == ["1", "2", "3", "4"] && talk.hasEnded)
    }

    @Test func hasMoreFalseEndsEachStyle() throws {
        for style in [Pagination.Style.page, .offset, .cursor, .next, .custom] {
            let options = try Pagination.plain(style) { $0.more = try JSONPointer("/more") }
            let talk = try Conversation(options)
            talk.read([#"{"items":[1],"next_cursor":"a","next":"/x","more":false}"#])
            #expect(talk.hasEnded && talk.items == ["1"] && talk.error == nil, "\(style)")
        }
    }

    @Test func cursorsAreOpaque() throws {
        let talk = try Conversation(.plain(.cursor) { $0.next = try JSONPointer("/n") })
        talk.read([
            #"{"items":[1],"n":"a b&c=\u00e9"}"#, #"{"items":[2],"n":12345678901234567890123}"#,
            #"{"items":[3],"n":null}"#,
        ])
        #expect(talk.requested == ["/list", "/list?cursor=a%20b%26c%3D%C3%A9", "/list?cursor=12345678901234567890123"])
        #expect(talk.items == ["1", "2", "3"] && talk.hasEnded)
    }

    @Test(arguments: ["null", #""""#, "false", "0"])
    func emptyCursorEndsTheList(none: String) throws {
        let talk = try Conversation(.plain(.cursor) { $0.next = try JSONPointer("/n") })
        talk.read([#"{"items":[1,2,3,4,5,6,7,8,9,10,11,12],"n":\#(none)}"#])
        #expect(talk.hasEnded && talk.items.count == 12 && talk.error == nil)
    }

    @Test(arguments: [("true", "a boolean"), ("[1]", "an array"), ("{}", "an object")])
    func invalidCursorIsAnError(value: String, name: String) throws {
        let talk = try Conversation(.plain(.cursor) { $0.next = try JSONPointer("/n") })
        talk.read([#"{"items":[1],"n":\#(value)}"#])
        #expect(talk.error?.kind == .decoding)
        #expect(talk.message == "page 1 has \(name) at \"/n\", where a cursor was expected")
    }

    @Test func emptyPageWithACursorContinues() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read([
            #"{"items":[1],"next_cursor":"a"}"#, #"{"items":[],"next_cursor":"b"}"#, #"{"items":[2],"next_cursor":""}"#,
        ])
        #expect(talk.items == ["1", "2"] && talk.hasEnded && talk.requested.count == 3)
    }

    @Test func emptyPagesAreBounded() throws {
        let talk = try Conversation(.plain(.cursor))
        var count = 0
        talk.read { _ in
            count += 1
            return Reply(body: #"{"items":[],"next_cursor":"c\#(count)"}"#)
        }
        #expect(talk.error?.kind == .protocol)
        #expect(talk.message == "1001 consecutive pages had no new items, but the server says that more items follow")
    }

    @Test func linksAreFollowed() throws {
        let talk = try Conversation(.plain(.link), "https://api.example/v1/list?n=2")
        talk.read { target in
            target.url.target == "/v1/list?n=2"
                ? Reply(body: "[1,2]", headers: [("Link", "<list?last=2&n=2>; rel=\"next\"")])
                : Reply(body: "[3,4]")
        }
        #expect(talk.requested == ["/v1/list?n=2", "/v1/list?last=2&n=2"])
        #expect(talk.items == ["1", "2", "3", "4"] && talk.hasEnded)
    }

    @Test func linkFieldWithoutNextIsTheEnd() throws {
        let talk = try Conversation(.plain(.link))
        talk.read { _ in Reply(body: list(0..<30), headers: [("Link", "</list?page=1>; rel=\"first last\"")]) }
        #expect(talk.items.count == 30 && talk.hasEnded)
    }

    @Test func urlsInTheBodyAreFollowed() throws {
        let talk = try Conversation(.plain(.next))
        talk.read([
            #"{"results":[1],"next":"https://api.example/list?page=2"}"#, #"{"results":[2],"next":"?page=3"}"#,
            #"{"results":[3],"next":{"href":"/end"}}"#, #"{"results":[4],"next":null}"#,
        ])
        #expect(talk.requested == ["/list", "/list?page=2", "/list?page=3", "/end"])
        #expect(talk.items == ["1", "2", "3", "4"] && talk.hasEnded)
    }

    @Test func headerTokenIsSentInAQueryItem() throws {
        let talk = try Conversation(
            .plain(.header) {
                $0.header = "X-Next"
                $0.parameter = "token"
            })
        talk.read { target in
            target.url.target == "/list" ? Reply(body: "[1]", headers: [("x-next", "t 1")]) : Reply(body: "[2]")
        }
        #expect(talk.requested == ["/list", "/list?token=t%201"] && talk.items == ["1", "2"] && talk.hasEnded)
    }

    @Test func headerTokenIsSentInAHeader() throws {
        let talk = try Conversation(
            .plain(.header) {
                $0.header = "X-Next"
                $0.requestHeader = "X-Continue"
            })
        talk.read { target in
            target.headerName == nil
                ? Reply(body: "[1]", headers: [("X-Next", "t")]) : Reply(body: "[2]", headers: [("X-Next", "")])
        }
        #expect(talk.requested == ["/list", "/list"] && talk.items == ["1", "2"] && talk.hasEnded)
        #expect(talk.targets.last?.headerName == "X-Continue" && talk.targets.last?.headerValue == "t")
    }

    @Test func customHandlerProvidesTheNextPage() throws {
        let talk = try Conversation(.plain(.custom), "https://api.example/list?a=1")
        talk.read(1) { _ in Reply(body: "[1]") }
        talk.perform(talk.traversal.needsPage()) { _ in Reply(body: "[]") }
        #expect(talk.error?.kind == .invalidArgument)
        #expect(
            talk.message
                == "page 1 was delivered, but its next page has not been set; set it before requesting another page")
        talk.error = nil
        talk.perform(try talk.traversal.setNext(.query([("a", "2"), ("b", "3")]))) { _ in Reply(body: "[2]") }
        talk.read(1) { _ in Reply(body: "[2]") }
        talk.perform(try talk.traversal.setNext(.url("/other"))) { _ in Reply(body: "[3]") }
        talk.read(1) { _ in Reply(body: "[]") }
        #expect(talk.requested == ["/list?a=1", "/list?a=2&b=3", "/other"])
        #expect(talk.pages == [["1"], ["2"], []])
        talk.perform(try talk.traversal.setNext(.end)) { _ in Reply(body: "") }
        talk.read { _ in Reply(body: "") }
        #expect(talk.hasEnded)
        #expect(throws: NightjarError.self) { try talk.traversal.setNext(.end) }
    }

    // MARK: Missing positions

    @Test func mismatchedStyleIsAnError() throws {
        let twelve = list(1...12)
        let cases: [(Pagination.Style, String, String)] = [
            (
                .link, twelve,
                "style link does not fit: page 1 lacks a Link field with rel=next, and nothing indicates that "
                    + "its 12 items are the whole list; set style, or set size, total or more"
            ),
            (
                .link, #"{"items":[1],"next_cursor":"a"}"#,
                "style link does not fit: page 1 lacks a Link field with rel=next, but "
                    + "it has a cursor at \"/next_cursor\" (style cursor)"
            ),
            (
                .cursor, #"{"items":[1],"next":"/list?page=2"}"#,
                "style cursor does not fit: page 1 lacks a cursor, but it has a "
                    + "URL at \"/next\" (style next)"
            ),
            (
                .next, #"{"items":[1],"has_more":true}"#,
                "style next does not fit: page 1 lacks a URL of the next page, but it "
                    + "says at \"/has_more\" that more items follow"
            ),
            (
                .next, #"{"items":[1,2],"total":5}"#,
                "style next does not fit: page 1 lacks a URL of the next page, but it counts "
                    + "5 items at \"/total\" and has 2"
            ),
            (
                .cursor, #"{"items":[1,2],"page":1,"total_pages":3}"#,
                "style cursor does not fit: page 1 lacks a cursor, but it "
                    + "counts 3 pages at \"/total_pages\" (style page)"
            ),
        ]
        for (style, body, message) in cases {
            let talk = try Conversation(.plain(style))
            talk.read([body])
            #expect(talk.error?.kind == .decoding && talk.message == message)
            #expect(talk.pages.isEmpty)
        }
    }

    @Test func missingHeaderIsAnError() throws {
        let talk = try Conversation(
            .plain(.header) {
                $0.header = "X-Next"
                $0.parameter = "t"
            })
        talk.read([list(1...10)])
        #expect(
            talk.message.hasPrefix("style header does not fit: page 1 lacks a header field \"X-Next\", and nothing"))
    }

    @Test func shortFirstPageIsACompleteList() throws {
        // GitHub omits the Link field if the whole list fits on one page.
        for (url, body) in [
            ("https://api.example/list", "[1,2,3]"), ("https://api.example/list", "[]"),
            ("https://api.example/list?per_page=100", list(1...99)),
            ("https://api.example/list?limit=50", list(1...20)),
        ] {
            let talk = try Conversation(.plain(.link), url)
            talk.read([body])
            #expect(talk.hasEnded && talk.error == nil, "\(url) \(body)")
        }
    }

    @Test func fullPageOfTheRequestedSizeIsNotComplete() throws {
        let talk = try Conversation(.plain(.link), "https://api.example/list?per_page=3")
        talk.read(["[1,2,3]"])
        #expect(talk.error?.kind == .decoding)
    }

    @Test func missingNextIsTheEnd() throws {
        for (pointer, body) in [
            ("/nextPageToken", #"{"items":\#(list(1...50))}"#), ("/NextToken", #"{"items":\#(list(1...50))}"#),
            ("/response_metadata/next_cursor", #"{"items":\#(list(1...50)),"ok":true}"#),
            ("/metadata/continue", #"{"items":\#(list(1...50)),"metadata":{}}"#),
        ] {
            let talk = try Conversation(.plain(.cursor) { $0.next = try JSONPointer(pointer) })
            talk.read([body])
            #expect(talk.hasEnded && talk.items.count == 50, "\(pointer): \(talk.message)")
        }
        for (pointer, body) in [
            ("/@odata.nextLink", #"{"value":\#(list(1...50))}"#),
            ("/links/next", #"{"data":\#(list(1...50)),"links":{"self":"/"}}"#),
            ("/_links/next/href", #"{"items":\#(list(1...50)),"_links":{}}"#),
            ("/paging/next", #"{"data":\#(list(1...50)),"paging":{"cursors":{"after":"x"}}}"#),
        ] {
            let talk = try Conversation(.plain(.next) { $0.next = try JSONPointer(pointer) })
            talk.read([body])
            #expect(talk.hasEnded && talk.items.count == 50, "\(pointer): \(talk.message)")
        }
    }

    @Test func laterMissingNextIsTheEnd() throws {
        let talk = try Conversation(.plain(.cursor) { $0.next = try JSONPointer("/n") })
        talk.read([#"{"items":\#(list(1...20)),"n":"a"}"#, #"{"items":\#(list(21...40))}"#])
        #expect(talk.items.count == 40 && talk.hasEnded)
    }

    // MARK: Repetition

    @Test func ignoredParameterIsAnError() throws {
        let talk = try Conversation(.plain(.page) { $0.parameter = "p" })
        talk.read(["[1,2,3]", "[1,2,3]"])
        #expect(talk.pages == [["1", "2", "3"]])
        #expect(talk.error?.kind == .protocol)
        #expect(
            talk.message
                == "page 2 has the items of the previous page, byte for byte: the server ignores the query item \"p\", or "
                + "starts again after its last page; set param, total or more")
    }

    @Test func lastPageOfAGrowingListIsTheEnd() throws {
        let talk = try Conversation(.plain(.offset))
        talk.read(["[1,2,3]", "[3,4]", "[4]", "[4]", "[4]"])
        #expect(talk.items == ["1", "2", "3", "3", "4", "4"] && talk.hasEnded && talk.requested.count == 4)
    }

    @Test func pageWithRepeatedKeysIsAnError() throws {
        let talk = try Conversation(.plain(.cursor) { $0.key = try JSONPointer("/id") })
        talk.read([
            #"{"items":[{"id":1,"n":0},{"id":2}],"next_cursor":"a"}"#,
            #"{"items":[{"id":1,"n":7},{"id":2}],"next_cursor":"b"}"#,
        ])
        #expect(talk.error?.kind == .protocol)
        #expect(
            talk.message
                == "page 2 has the items of the previous page, key for key: the server returns to an earlier position")
    }

    // MARK: Lists

    @Test func missingListIsReportedWithThePointer() throws {
        let cases = [
            (
                #"{"a":{"b":{}}}"#,
                "page 1 has an object at \"/a/b\", where its list was expected; set items to the location of the list"
            ),
            (
                #"{"a":7}"#,
                "page 1 has nothing at \"/a/b\", where its list was expected; set items to the location of the list"
            ),
            ("<html>", "page 1 is not JSON: "),
        ]
        for (body, message) in cases {
            let talk = try Conversation(.plain(.page) { $0.items = try JSONPointer("/a/b") })
            talk.read([body])
            #expect(talk.error?.kind == .decoding && talk.message.hasPrefix(message), "\(talk.message)")
        }
    }

    @Test func itemsAreUnchangedBytes() throws {
        let talk = try Conversation(.plain(.page) { $0.items = try JSONPointer("/a~1b/1") })
        talk.read([
            #"{"x":"]}","a\/b":[0,[ 1.50 , {"k" : "\u0041,]" } ,[[]], "" ,12345678901234567890.10]]}"#,
            #"{"a/b":[0,[]]}"#,
        ])
        #expect(talk.items == ["1.50", #"{"k" : "\u0041,]" }"#, "[[]]", "\"\"", "12345678901234567890.10"])
        #expect(talk.delivered.first?.indices == [0, 1, 2, 3, 4])
    }
}
