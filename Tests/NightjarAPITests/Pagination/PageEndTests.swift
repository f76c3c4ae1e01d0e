import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// Wrong or missing signs of the end of a list: no list is truncated without an error, and no iteration is endless.
@Suite struct PageEndTests {
    private typealias Reply = Conversation.Reply

    // MARK: More pages are announced without a next position

    @Test(arguments: [
        (#"{"has_more":true,"data":[]}"#, "an item to continue after"),
        (#"{"has_more":true,"data":null}"#, "an item to continue after"),
        (#"{"has_more":true}"#, "an item to continue after"),
        (#"{"has_more":true,"data":[{"id":3},{"no":4}]}"#, #"a cursor at "/id" of its last item"#),
        (#"{"has_more":true,"data":[{"id":null}]}"#, #"a cursor at "/id" of its last item"#),
    ])
    func moreWithoutALastItemIsAnError(second: String, lack: String) throws {
        let talk = try Conversation(.plain(.guess))
        talk.read([#"{"has_more":true,"data":[{"id":1},{"id":2}]}"#, second])
        #expect(talk.items.count == 2 && talk.requested == ["/list", "/list?starting_after=2"])
        #expect(talk.error?.kind == .decoding && !talk.hasEnded)
        #expect(
            talk.message
                == "page 2 says at \"/has_more\" that more items follow, but lacks \(lack); the list cannot continue with style cursor"
        )
    }

    @Test func moreWithoutANextIsAnErrorInEachStyle() throws {
        let cases: [(Pagination.Style, String, [(String, String)], String)] = [
            (.cursor, #"{"items":[2],"more":true,"n":null}"#, [], #"a cursor at "/n""#),
            (.cursor, #"{"items":[2],"more":true,"n":""}"#, [], #"a cursor at "/n""#),
            (.cursor, #"{"items":[2],"more":true}"#, [], #"a cursor at "/n""#),
            (.next, #"{"items":[2],"more":true,"n":null}"#, [], #"the URL of the next page at "/n""#),
            (.next, #"{"items":[2],"more":true}"#, [], #"the URL of the next page at "/n""#),
            (.link, #"{"items":[2],"more":true}"#, [], "a Link field with rel=next"),
            (.link, #"{"items":[2],"more":true}"#, [("Link", "</a>; rel=first")], "a Link field with rel=next"),
            (.header, #"{"items":[2],"more":true}"#, [], #"a header field "X-N""#),
            (.header, #"{"items":[2],"more":true}"#, [("X-N", "")], #"a token in its header field "X-N""#),
        ]
        for (style, second, headers, lack) in cases {
            let options = try Pagination.plain(style) {
                $0.more = try JSONPointer("/more")
                if style == .cursor || style == .next { $0.next = try JSONPointer("/n") }
                if style == .header {
                    $0.header = "X-N"
                    $0.parameter = "token"
                }
            }
            let first = Reply(
                body: #"{"items":[1],"more":true,"n":"/b"}"#, headers: [("Link", "</b>; rel=next"), ("X-N", "t")])
            let talk = try Conversation(options)
            talk.read { target in
                target.url.target == "/list" ? first : Reply(body: second, headers: headers)
            }
            #expect(talk.items == ["1"] && talk.error?.kind == .decoding, "\(style) \(second)")
            #expect(
                talk.message == "page 2 says at \"/more\" that more items follow, but lacks \(lack); "
                    + "the list cannot continue with style \(style.rawValue)")
        }
    }

    @Test func hasMoreOverridesTotalAndLastPage() throws {
        let last = try Conversation(.plain(.guess))
        last.read([
            #"{"items":[1],"page":1,"total_pages":1,"has_next":true}"#,
            #"{"items":[2],"page":2,"total_pages":1,"has_next":false}"#,
        ])
        #expect(last.items == ["1", "2"] && last.hasEnded)
        for style in [Pagination.Style.page, .offset] {
            let total = try Conversation(
                .plain(style) {
                    $0.more = try JSONPointer("/more")
                    $0.total = try JSONPointer("/total")
                })
            total.read([#"{"items":[1],"total":1,"more":true}"#, #"{"items":[2],"total":1,"more":false}"#])
            #expect(total.items == ["1", "2"] && total.hasEnded, "\(style)")
        }
    }

    // MARK: Cycles

    @Test func cyclicPagesAreAnError() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read { target in
            Reply(
                body: target.url.target.hasSuffix("cursor=b")
                    ? #"{"items":[3,4],"next_cursor":"a"}"# : #"{"items":[1,2],"next_cursor":"b"}"#)
        }
        #expect(talk.items == ["1", "2", "3", "4"] && talk.requested.count == 3)
        #expect(talk.error?.kind == .protocol)
        #expect(
            talk.message
                == "page 3 has the items of an earlier page, byte for byte: the server returns to an earlier position")
    }

    @Test func pagesWithCyclicKeysAreAnError() throws {
        let talk = try Conversation(
            .plain(.page) {
                $0.key = try JSONPointer("/id")
                $0.prefetch = 3
            })
        var count = 0
        talk.read { _ in
            count += 1
            return Reply(body: #"[{"id":\#(count % 3),"n":\#(count)}]"#)
        }
        #expect(talk.items.count == 3 && talk.requested.count == 4)
        #expect(
            talk.message.hasPrefix("page 4 has the items of an earlier page, key for key: the server ignores"))
    }

    @Test func emptyPagesMayRepeat() throws {
        let talk = try Conversation(.plain(.cursor))
        talk.read([
            #"{"items":[],"next_cursor":"a"}"#, #"{"items":[1],"next_cursor":"b"}"#, #"{"items":[],"next_cursor":"c"}"#,
            #"{"items":[],"next_cursor":"d"}"#, #"{"items":[2],"next_cursor":null}"#,
        ])
        #expect(talk.items == ["1", "2"] && talk.hasEnded && talk.error == nil)
    }

    @Test func failedOrRefreshedPageIsNotARepetition() throws {
        let talk = try Conversation(.plain(.offset) { $0.maximumItems = 3 })
        talk.read(["[1,2]", "[3,4]"])
        #expect(talk.error?.kind == .tooLarge)
        talk.error = nil
        talk.read { _ in Reply(body: "[3,4]") }
        #expect(talk.error?.kind == .tooLarge)
        talk.error = nil
        talk.perform(talk.traversal.refresh()) { _ in Reply(body: "") }
        talk.read(1) { _ in Reply(body: "[1,2]") }
        #expect(talk.error == nil && talk.items == ["1", "2", "1", "2"])
    }

    // MARK: Lists that are null or missing

    @Test func nullListIsAnEmptyPage() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read([
            #"{"results":[1],"next_cursor":"a"}"#, #"{"results":null,"next_cursor":"b"}"#,
            #"{"results":[2],"next_cursor":"c"}"#, #"{"results":null,"next_cursor":null}"#,
        ])
        #expect(talk.items == ["1", "2"] && talk.hasEnded && talk.requested.count == 4, "\(talk.message)")
        let bare = try Conversation(.plain(.offset))
        bare.read(["[1]", "null"])
        #expect(bare.items == ["1"] && bare.hasEnded)
    }

    @Test func firstNullListIsEmptyIfItsPointerIsSet() throws {
        for style in [Pagination.Style.guess, .cursor] {
            let talk = try Conversation(.plain(style) { $0.items = try JSONPointer("/results") })
            talk.read([#"{"results":null,"next_cursor":"x"}"#, #"{"results":[1],"next_cursor":""}"#])
            #expect(talk.items == ["1"] && talk.hasEnded && talk.requested == ["/list", "/list?cursor=x"], "\(style)")
        }
        let guessed = try Conversation(.plain(.guess))
        guessed.read([#"{"results":null,"next_cursor":"x"}"#])
        #expect(guessed.error?.kind == .decoding)
    }

    @Test func missingListWithNextIsAnEmptyPage() throws {
        let next = try Conversation(.plain(.guess))
        next.read([
            #"{"items":[1],"nextPageToken":"a"}"#, #"{"nextPageToken":"b"}"#, #"{"items":[2],"nextPageToken":""}"#,
        ])
        #expect(next.items == ["1", "2"] && next.hasEnded)
        let total = try Conversation(
            .plain(.offset) {
                $0.items = try JSONPointer("/items")
                $0.total = try JSONPointer("/total")
            })
        total.read([#"{"total":0}"#])
        #expect(total.items.isEmpty && total.hasEnded && total.error == nil)
        let neither = try Conversation(.plain(.guess))
        neither.read([#"{"items":[1],"nextPageToken":"a"}"#, #"{"error":"x"}"#])
        #expect(
            neither.message
                == "page 2 has nothing at \"/items\", where its list was expected; set items to the location of the list"
        )
    }

    @Test func otherTypeThanAListIsAnError() throws {
        let talk = try Conversation(.plain(.guess))
        talk.read([#"{"items":[1],"next_cursor":"a"}"#, #"{"items":{},"next_cursor":"b"}"#])
        #expect(
            talk.message
                == "page 2 has an object at \"/items\", where its list was expected; set items to the location of the list"
        )
    }
}
