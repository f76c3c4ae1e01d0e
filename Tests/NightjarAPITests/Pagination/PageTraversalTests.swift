import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarAPI
@testable import NightjarHTTP

/// The behavior that all styles share: order, prefetch, failures, limits, keys, origins.
@Suite struct PageTraversalTests {
    private typealias Reply = Conversation.Reply

    private func name(_ actions: [PageTraversal.Action]) -> [String] {
        actions.map { action in
            switch action {
            case .load(let target): "load \(target.url.target)"
            case .cancelLoad: "cancel"
            case .deliver(let page): "give \(page.number)"
            case .end: "end"
            case .fail(let error): "fail \(error.kind.name)"
            }
        }
    }

    private func traversal(_ options: Pagination, _ first: String = "https://api.example/list") throws -> PageTraversal
    {
        try PageTraversal(options, first: RequestURL(first))
    }

    private func respond(_ traversal: inout PageTraversal, _ body: String, at url: String = "https://api.example/list")
        throws
        -> [String]
    {
        name(traversal.received(Headers(), body: ByteBuffer(string: body), at: try RequestURL(url)))
    }

    private let broken = NightjarError(.connectionLost, "the connection was closed")

    @Test(.enabled(if: !isSanitized)) func exhaustedMemoryIsNotReportedAsAnInvalidPage() async {
        await #expect(processExitsWith: .success) {
            let url = try RequestURL("https://api.example/list")
            var traversal = try PageTraversal(Pagination(.offset), first: url)
            _ = traversal.needsPage()
            let page = ByteBuffer(string: "[" + String(repeating: "0,", count: 100_000) + "0]")
            let actions = withoutMemory { traversal.received(Headers(), body: page, at: url) }
            guard case .fail(let error) = try #require(actions.first) else { throw CancellationError() }
            #expect(error.kind == .noMemory && error.message.hasPrefix("cannot allocate "))
        }
    }

    // MARK: Loading

    @Test func onePageIsLoadedAtATime() throws {
        var traversal = try traversal(Pagination(.offset))
        #expect(name(traversal.needsPage()) == ["load /list"])
        #expect(name(traversal.needsPage()) == [])
        #expect(name(traversal.needsPage()) == [])
        #expect(try respond(&traversal, "[1]") == ["give 1", "load /list?offset=1"])
        #expect(try respond(&traversal, "[2]") == ["give 2", "load /list?offset=2"])
        #expect(try respond(&traversal, "[]") == ["end"])
        #expect(name(traversal.needsPage()) == ["end"])
    }

    @Test func nextPageIsPrefetched() throws {
        var options = Pagination(.offset)
        options.prefetch = 2
        var traversal = try traversal(options)
        #expect(name(traversal.needsPage()) == ["load /list"])
        #expect(try respond(&traversal, "[1]") == ["give 1", "load /list?offset=1"])
        #expect(try respond(&traversal, "[2]") == ["load /list?offset=2"])
        #expect(try respond(&traversal, "[3]") == [])
        #expect(name(traversal.needsPage()) == ["give 2", "load /list?offset=3"])
        #expect(name(traversal.needsPage()) == ["give 3"])
    }

    @Test func withoutPrefetchPagesAreLoadedOnRequest() throws {
        var traversal = try traversal(.plain(.offset))
        #expect(name(traversal.needsPage()) == ["load /list"])
        #expect(try respond(&traversal, "[1]") == ["give 1"])
        #expect(name(traversal.needsPage()) == ["load /list?offset=1"])
    }

    @Test func onlyAFailedPageIsLoadedAgain() throws {
        var traversal = try traversal(.plain(.offset))
        _ = traversal.needsPage()
        _ = try respond(&traversal, "[1]")
        #expect(name(traversal.needsPage()) == ["load /list?offset=1"])
        #expect(name(traversal.failed(broken)) == ["fail connection_lost"])
        #expect(name(traversal.needsPage()) == ["load /list?offset=1"])
        #expect(try respond(&traversal, "[2]") == ["give 2"])
    }

    @Test func failedPrefetchIsRetriedOnRequest() throws {
        var traversal = try traversal(Pagination(.offset))
        _ = traversal.needsPage()
        _ = try respond(&traversal, "[1]")
        #expect(name(traversal.failed(broken)) == [])
        #expect(name(traversal.needsPage()) == ["load /list?offset=1"])
        #expect(try respond(&traversal, "[2]") == ["give 2", "load /list?offset=2"])
    }

    @Test func invalidPrefetchedPageIsReportedOnRequest() throws {
        var traversal = try traversal(Pagination(.offset))
        _ = traversal.needsPage()
        _ = try respond(&traversal, "[1]")
        #expect(try respond(&traversal, "{}") == [])
        #expect(name(traversal.needsPage()) == ["fail decoding"])
        #expect(name(traversal.needsPage()) == ["load /list?offset=1"])
        #expect(try respond(&traversal, "[2]") == ["give 2", "load /list?offset=2"])
    }

    @Test func requestAfterAFailureIsServed() throws {
        var traversal = try traversal(.plain(.offset))
        _ = traversal.needsPage()
        _ = traversal.needsPage()
        #expect(name(traversal.failed(broken)) == ["fail connection_lost", "load /list"])
        #expect(try respond(&traversal, "[1]") == ["give 1"])
    }

    @Test func unexpectedResponseIsIgnored() throws {
        var traversal = try traversal(.plain(.offset))
        #expect(try respond(&traversal, "[1]") == [])
        #expect(name(traversal.failed(broken)) == [])
    }

    @Test func refreshStartsOver() throws {
        let options = try {
            var o = Pagination(.cursor)
            o.key = try JSONPointer("/id")
            return o
        }()
        var traversal = try traversal(options)
        _ = traversal.needsPage()
        #expect(
            try respond(&traversal, #"{"items":[{"id":1}],"next_cursor":"a"}"#) == ["give 1", "load /list?cursor=a"])
        #expect(name(traversal.refresh()) == ["cancel"])
        #expect(traversal.explanation.isEmpty)
        #expect(name(traversal.needsPage()) == ["load /list"])
        // After the refresh, the same items are delivered again.
        #expect(
            try respond(&traversal, #"{"items":[{"id":1}],"next_cursor":"a"}"#) == ["give 1", "load /list?cursor=a"])
    }

    @Test func pendingRequestReceivesTheFirstPageAfterARefresh() throws {
        var traversal = try traversal(.plain(.offset))
        _ = traversal.needsPage()
        _ = try respond(&traversal, "[1]")
        _ = traversal.needsPage()
        #expect(name(traversal.refresh()) == ["cancel", "load /list"])
        #expect(try respond(&traversal, "[1]") == ["give 1"])
    }

    // MARK: Bounds

    @Test func exceedingThePageLimitIsAnError() throws {
        let talk = try Conversation(.plain(.offset) { $0.maximumPages = 2 })
        talk.read(["[1]", "[2]", "[3]"])
        #expect(talk.items == ["1", "2"] && talk.requested.count == 2)
        #expect(talk.error?.kind == .tooLarge)
        #expect(
            talk.message
                == "the list has more than 2 pages (2 items so far); raise max_pages to continue")
    }

    @Test func exceedingTheItemLimitIsAnError() throws {
        let talk = try Conversation(.plain(.offset) { $0.maximumItems = 3 })
        talk.read(["[1,2]", "[3,4]", "[]"])
        #expect(talk.items == ["1", "2"])
        #expect(talk.error?.kind == .tooLarge)
        #expect(
            talk.message
                == "the list has more than 3 items, 2 of which were loaded; raise max_items to continue")
        talk.error = nil
        talk.read { _ in Reply(body: "[3,4]") }
        #expect(talk.error?.kind == .tooLarge && talk.items == ["1", "2"])
    }

    @Test func exactlyTheLimitIsAllowed() throws {
        let talk = try Conversation(
            .plain(.offset) {
                $0.maximumItems = 3
                $0.maximumPages = 3
            })
        talk.read(["[1,2]", "[3]", "[]"])
        #expect(talk.items == ["1", "2", "3"] && talk.hasEnded)
    }

    // MARK: Keys

    @Test func noItemIsDeliveredTwice() throws {
        let talk = try Conversation(.plain(.offset) { $0.key = try JSONPointer("/id") })
        talk.read([
            #"[{"id":1},{"id":2},{"id":2}]"#, #"[{"id":2},{"id":"2"},{"id":3,"x":1}]"#, #"[{"id":"\u0032"},{"id":4}]"#,
            "[]",
        ])
        #expect(
            talk.items == [#"{"id":1}"#, #"{"id":2}"#, #"{"id":"2"}"#, #"{"id":3,"x":1}"#, #"{"id":4}"#])
        #expect(talk.delivered.map(\.indices) == [[0, 1], [1, 2], [1]])
    }

    @Test func pageBeyondTheLimitDoesNotRecordItsKeys() throws {
        let talk = try Conversation(
            .plain(.offset) {
                $0.key = JSONPointer()
                $0.maximumItems = 3
            })
        talk.read(["[1,2]", "[3,4]"])
        talk.error = nil
        talk.read { _ in Reply(body: "[3]") }
        #expect(talk.items.prefix(3) == ["1", "2", "3"])
    }

    @Test(arguments: [("{}", "nothing"), (#"{"id":null}"#, "null"), (#"{"id":{}}"#, "an object")])
    func itemWithoutKeyIsAnError(item: String, found: String) throws {
        let talk = try Conversation(.plain(.offset) { $0.key = try JSONPointer("/id") })
        talk.read([#"[{"id":1},\#(item)]"#])
        #expect(talk.error?.kind == .decoding)
        #expect(talk.message == "item 1 of page 1 has \(found) at \"/id\", where its key was expected")
    }

    @Test func keysAreStoredAsSixteenBytes() {
        var set = FingerprintSet()
        let fingerprints = (0..<50_000).map { FingerprintSet.Fingerprint(Array(String($0).utf8)) }
        for print in fingerprints where !set.insert(print) { Issue.record("false positive") }
        for print in fingerprints where set.insert(print) || !set.contains(print) { Issue.record("false negative") }
        #expect(set.count == 50_000)
    }

    // MARK: Other origins

    private func next(
        _ url: String, _ change: (inout Pagination) -> Void = { _ in }
    ) throws -> Conversation {
        var options = try Pagination.plain(.next)
        change(&options)
        let talk = try Conversation(options, "https://user:pass@api.example/list?api_key=s3cret&limit=1")
        talk.read { target in
            Reply(
                body: target.url.target.hasPrefix("/list?api")
                    ? #"{"items":[1],"next":"\#(url)"}"# : #"{"items":[2],"next":null}"#)
        }
        return talk
    }

    @Test func otherOriginIsRejected() throws {
        for url in ["https://evil.example/list", "//evil.example/list", "https://api.example:444/list"] {
            let talk = try next(url)
            #expect(talk.error?.kind == .protocol && talk.requested.count == 1)
            #expect(
                talk.message.hasSuffix("add this origin to allow_origins to follow the list without credentials"))
        }
        #expect(
            try next("https://evil.example/x").message
                == "the list cannot be followed: its next page is at \"https://evil.example\", not at "
                + "\"https://api.example\"; add this origin to allow_origins to follow the list without credentials"
        )
    }

    @Test func allowedOriginReceivesNoCredentials() throws {
        let talk = try next("https://cdn.example/p?api_key=s3cret&a=s3cret&b=1") {
            $0.allowedOrigins = ["https://cdn.example"]
        }
        #expect(talk.items == ["1", "2"] && talk.hasEnded)
        let target = try #require(talk.targets.last)
        #expect(target.url.origin.host == "cdn.example" && target.url.target == "/p?b=1")
        #expect(!target.carriesCredentials && target.url.userInfo == nil)
        #expect(talk.targets.first?.carriesCredentials == true)
    }

    @Test func sameOriginReceivesCredentials() throws {
        let talk = try next("https://api.example:443/more?api_key=s3cret&x=2")
        let target = try #require(talk.targets.last)
        #expect(
            target.carriesCredentials && target.url.userInfo != nil && target.url.target == "/more?api_key=s3cret&x=2")
    }

    @Test func downgradeToHTTPIsRejected() throws {
        let talk = try next("http://api.example/list") { $0.allowedOrigins = ["http://api.example"] }
        #expect(talk.error?.kind == .protocol)
        #expect(
            talk.message
                == "the list cannot be followed: its next page, at \"http://api.example\", does not use TLS, "
                + "but its first page does")
    }

    @Test(arguments: ["ftp://x/y", "http:x", "https://u:p@api.example/", "https://api.example:99999/"])
    func invalidURLIsAnError(url: String) throws {
        let talk = try next(url)
        #expect(talk.error?.kind == .protocol && talk.message.hasPrefix("the list cannot be followed: "))
        #expect(!talk.message.contains("Location"))
    }

    // MARK: Options

    @Test func invalidOptionsAreRejected() throws {
        let cases: [(Pagination.Style, (inout Pagination) -> Void, String)] = [
            (.page, { $0.maximumPages = 0 }, "max_pages must be at least 1, got 0"),
            (.page, { $0.maximumItems = -1 }, "max_items must be at least 1, got -1"),
            (.page, { $0.prefetch = 65 }, "prefetch must be between 0 and 64, got 65"),
            (.page, { $0.prefetch = -1 }, "prefetch must be between 0 and 64, got -1"),
            (.page, { $0.first = 1 << 31 }, "first must be between 0 and 2147483647, got 2147483648"),
            (.page, { $0.size = 0 }, "size must be at least 1, got 0"),
            (.page, { $0.parameter = "" }, "param is empty; set it to the name of the query item, or remove it"),
            (.header, { _ in }, "style header requires the option header: the name of the field with the next page"),
            (.link, { $0.requestHeader = "a b" }, "request_header must be the name of a header field, got \"a b\""),
        ]
        for (style, change, message) in cases {
            var options = Pagination(style)
            change(&options)
            #expect {
                try PageTraversal(options, first: RequestURL("http://a/"))
            } throws: {
                let error = $0 as? NightjarError
                return error?.kind == .invalidArgument && error?.message == message
            }
        }
    }
}
