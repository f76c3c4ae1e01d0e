import NIOCore
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

@Suite struct PaginatorTests {
    private typealias Step = ScriptedTransport.Step

    private func page(_ body: String, _ fields: [(String, String)] = []) -> [Step] {
        [.head(200, fields), .body(body), .end]
    }

    private func options(
        _ style: Pagination.Style = .cursor, _ change: (inout Pagination) -> Void = { _ in }
    ) -> Pagination {
        var options = Pagination(style)
        options.prefetch = 0
        change(&options)
        return options
    }

    private func targets(_ transport: ScriptedTransport) -> [String] {
        transport.log.withLock { $0.heads }.map { String($0.split(separator: " ")[1]) }
    }

    private func texts(_ page: Page?) -> [String] {
        guard let page else { return [] }
        return (0..<page.count).map { String(buffer: page.text($0)) }
    }

    private var three: [[Step]] {
        [
            page(#"{"items":[ 1.0 ,{"a" : 2}],"next_cursor":"a"}"#), page(#"{"items":[3],"next_cursor":"b"}"#),
            page(#"{"items":[4],"next_cursor":null}"#),
        ]
    }

    // MARK: Reading

    @Test func pagesWithoutItemsAreDelivered() throws {
        let responses = [
            page(#"{"items":[],"next_cursor":"a"}"#, [("X-A", "1")]), page(#"{"items":[1],"next_cursor":null}"#),
        ]
        let paginator = try Paginator(client(ScriptedTransport(responses)), Request(.get, "/list"), options())
        let empty = try paginator.nextPageBlocking()
        #expect(empty?.count == 0 && empty?.number == 1 && empty?.response.headers["X-A"] == "1")
        #expect(texts(try paginator.nextPageBlocking()) == ["1"])
        #expect(try paginator.nextPageBlocking() == nil)
        var request = Request(.get, "/list")
        try request.headers.set("If-None-Match", "\"a\"")
        let unmodified = try Paginator(client(ScriptedTransport([[.head(304), .end]])), request, options(.guess))
        #expect(try unmodified.nextPageBlocking()?.response.status == 304)
        #expect(try unmodified.nextPageBlocking() == nil)
    }

    @Test func listIsReadPageByPage() throws {
        let transport = ScriptedTransport(three)
        let paginator = try Paginator(client(transport), Request(.get, "/list?x=1"), options(.guess))
        #expect(paginator.explanation.isEmpty)
        let first = try paginator.nextPageBlocking()
        #expect(texts(first) == ["1.0", #"{"a" : 2}"#])
        #expect(first?.number == 1 && first?.response.status == 200 && first?.uniqueIndices == [0, 1])
        #expect(try first?.json(1) == .object([.init("a", .integer(2))]))
        #expect(throws: NightjarError.self) { try first?.json(2) }
        #expect(
            paginator.explanation
                == #"guessed: the items are at "/items", the cursor is at "/next_cursor" and the query item "#
                + #""cursor" takes the cursor"#
        )
        #expect(texts(try paginator.nextPageBlocking()) == ["3"])
        #expect(texts(try paginator.nextPageBlocking()) == ["4"])
        #expect(try paginator.nextPageBlocking() == nil)
        #expect(try paginator.nextPageBlocking() == nil)
        #expect(targets(transport) == ["/v1/list?x=1", "/v1/list?x=1&cursor=a", "/v1/list?x=1&cursor=b"])
    }

    @Test func optionsApplyToEachPage() throws {
        let transport = ScriptedTransport([
            page(#"{"items":[1],"next":"/v1/users/7/list?after=1"}"#), page(#"{"items":[2],"next":null}"#),
        ])
        let api = try client(transport) { configuration in
            configuration.auth = .bearer("b3arer")
        }
        var request = Request(.get, "/users/{id}/list{?tag}")
        request.parameters = [("id", "7"), ("tag", "a b")]
        try request.headers.add("X-Own", "own")
        let paginator = try Paginator(api, request, options(.next))
        while try paginator.nextPageBlocking() != nil {}
        #expect(targets(transport) == ["/v1/users/7/list?tag=a%20b", "/v1/users/7/list?after=1"])
        for head in transport.log.withLock({ $0.heads }) {
            #expect(head.contains("X-Own: own\r\n") && head.contains("Authorization: Bearer b3arer\r\n"))
            #expect(head.contains("Host: api.test\r\n"))
        }
    }

    @Test func otherOriginReceivesNoRequest() throws {
        let transport = ScriptedTransport([page(#"{"items":[1],"next":"https://cdn.test/p"}"#)])
        let paginator = try Paginator(client(transport), Request(.get, "/list"), options(.next) { $0.prefetch = 3 })
        #expect(texts(try paginator.nextPageBlocking()) == ["1"])
        #expect {
            try paginator.nextPageBlocking()
        } throws: {
            ($0 as? NightjarError)?.kind == .protocol
        }
        #expect(targets(transport) == ["/v1/list"])
    }

    @Test func allowedOriginReceivesNoSecrets() throws {
        let transport = ScriptedTransport([
            page(#"{"items":[1],"next":"https://cdn.test/p?api_key=k3y&n=1"}"#), page(#"{"items":[2],"next":null}"#),
        ])
        let api = try client(transport) { configuration in
            configuration.auth = .bearer("b3arer")
            configuration.forwardedHeaders = ["X-Plain"]
        }
        var request = Request(.get, "/list?api_key=k3y")
        try request.headers.add("Cookie", "session=c00kie")
        try request.headers.add("X-Api-Key", "k3y2")
        try request.headers.add("X-Plain", "plain")
        try request.headers.add("X-JWT", "j3wt")
        try request.headers.add("X-Other", "0ther")
        let paginator = try Paginator(api, request, options(.next) { $0.allowedOrigins = ["https://cdn.test"] })
        #expect(texts(try paginator.nextPageBlocking()) == ["1"])
        #expect(texts(try paginator.nextPageBlocking()) == ["2"])
        let heads = transport.log.withLock { $0.heads }
        #expect(heads[0].contains("k3y2") && heads[0].contains("c00kie") && heads[0].contains("b3arer"))
        #expect(heads[1].hasPrefix("GET /p?n=1 HTTP/1.1\r\n"))
        #expect(heads[1].contains("Host: cdn.test\r\n") && heads[1].contains("X-Plain: plain\r\n"))
        for secret in ["k3y", "c00kie", "b3arer", "j3wt", "0ther"] { #expect(!heads[1].contains(secret)) }
    }

    @Test func streamedBodyIsRejected() throws {
        var request = Request(.post, "/search")
        request.body = .stream(length: nil)
        #expect {
            try Paginator(client(ScriptedTransport([])), request)
        } throws: {
            ($0 as? NightjarError)?.kind == .invalidRequest
        }
    }

    @Test func searchIsPostedForEachPage() throws {
        let transport = ScriptedTransport([page("[1]"), page("[]")])
        var request = Request(.post, "/search")
        request.body = .bytes(ByteBuffer(string: "{}"))
        let paginator = try Paginator(client(transport), request, options(.offset))
        while try paginator.nextPageBlocking() != nil {}
        #expect(transport.log.withLock { $0.heads }.allSatisfy { $0.hasPrefix("POST /v1/search") })
        #expect(targets(transport) == ["/v1/search", "/v1/search?offset=1"])
    }

    // MARK: Failing

    @Test func failedPageIsLoadedAgain() throws {
        for failing in 0..<3 {
            var scripts = three
            scripts.insert([.fail(.connectionLost)], at: failing)
            let transport = ScriptedTransport(scripts)
            let paginator = try Paginator(client(transport), Request(.get, "/list"), options())
            var items: [String] = []
            var failures = 0
            while true {
                do {
                    guard let page = try paginator.nextPageBlocking() else { break }
                    items += texts(page)
                } catch {
                    #expect((error as? NightjarError)?.kind == .connectionLost)
                    failures += 1
                }
            }
            #expect(items == ["1.0", #"{"a" : 2}"#, "3", "4"] && failures == 1)
            let requested = targets(transport)
            #expect(requested.count == 4 && requested[failing] == requested[failing + 1])
        }
    }

    @Test func rateLimitDelaysTheNextPage() throws {
        var scripts = three
        scripts.insert([.head(429, [("Retry-After", "0")]), .body("{}"), .end], at: 1)
        scripts.insert([.head(503, [("Retry-After", "0")]), .body("{}"), .end], at: 1)
        let transport = ScriptedTransport(scripts)
        let paginator = try Paginator(client(transport), Request(.get, "/list"), options(), timeout: .seconds(300))
        var count = 0
        while let page = try paginator.nextPageBlocking() { count += page.count }
        #expect(count == 4 && targets(transport).count == 5)
    }

    @Test func rateLimitBeyondTheDeadlineIsAnError() throws {
        for timeout in [Duration.seconds(300), nil] {
            let wait = timeout == nil ? "3601" : "600"
            let transport = ScriptedTransport([[.head(429, [("Retry-After", wait)]), .body("{}"), .end]] + three)
            let paginator = try Paginator(client(transport), Request(.get, "/list"), options(), timeout: timeout)
            #expect {
                try paginator.nextPageBlocking()
            } throws: {
                ($0 as? NightjarError)?.kind == .rateLimited
            }
            #expect(targets(transport).count == 1)
        }
    }

    @Test func closingTheClientEndsAWait() async throws {
        let transport = ScriptedTransport([[.head(429, [("Retry-After", "600")]), .body("{}"), .end]])
        let api = try client(transport)
        let paginator = try Paginator(api, Request(.get, "/list"), options())
        let results = Results()
        paginator.nextPage(on: nil) { results.add($0) }
        try await eventually("the page was requested") { targets(transport).count == 1 }
        // Each call takes one turn of the loop. After two turns, the paginator has received the response and waits.
        for _ in 0..<2 { _ = api.limitStates() }
        api.close()
        try await eventually("the wait was ended") { results.kinds.count == 1 }
        #expect(results.kinds == [.closed])
        paginator.nextPage(on: nil) { results.add($0) }
        #expect(results.kinds == [.closed, .closed])
    }

    @Test func totalTimeoutEndsTheList() async throws {
        let slowPages = SlowPages()
        let paginator = try Paginator(slowPages.client(), Request(.get, "/list"), options(), timeout: .milliseconds(30))
        let error = await #expect(throws: NightjarError.self) { try await paginator.nextPage() }
        #expect(error?.kind == .timeout && error?.phase == .total)
        #expect(slowPages.cancelled == 1)
        let again = await #expect(throws: NightjarError.self) { try await paginator.nextPage() }
        #expect(again?.kind == .timeout)
    }

    @Test func restartedListHasANewTimeout() async throws {
        let slowPages = SlowPages()
        let paginator = try Paginator(slowPages.client(), Request(.get, "/list"), options(), timeout: .milliseconds(30))
        await #expect(throws: NightjarError.self) { try await paginator.nextPage() }
        let results = Results()
        paginator.refresh()
        paginator.nextPage(on: nil) { results.add($0) }
        try await eventually("the page was requested again") { slowPages.began == 2 }
        try await eventually("the list timed out") { results.kinds == [.timeout] }
    }

    // MARK: Order

    @Test func onePageIsLoadedAtATimeInOrder() async throws {
        let slowPages = SlowPages()
        let paginator = try Paginator(slowPages.client(), Request(.get, "/list"), options())
        let results = Results()
        for _ in 0..<4 { paginator.nextPage(on: nil) { results.add($0) } }
        for number in 1...3 {
            try await eventually("page \(number) was requested") { slowPages.began == number }
            #expect(results.count == number - 1)
            slowPages.respond(#"{"items":[\#(number)],"next_cursor":\#(number == 3 ? "null" : "\"c\(number)\"")}"#)
        }
        try await eventually("all requests have results") { results.count == 4 }
        #expect(results.numbers == [1, 2, 3, nil])
    }

    @Test func nextPageIsPrefetched() async throws {
        let slowPages = SlowPages()
        let paginator = try Paginator(slowPages.client(), Request(.get, "/list"), options { $0.prefetch = 1 })
        let requested = Task { try await paginator.nextPage() }
        try await eventually("the first page was requested") { slowPages.began == 1 }
        slowPages.respond(#"{"items":[1],"next_cursor":"a"}"#)
        #expect(try await requested.value?.number == 1)
        try await eventually("the second page was prefetched") { slowPages.began == 2 }
        slowPages.respond(#"{"items":[2],"next_cursor":"b"}"#)
        #expect(try await paginator.nextPage()?.number == 2)
        try await eventually("the third page was prefetched") { slowPages.began == 3 }
    }

    // MARK: Ending

    @Test func cancellationEndsTheWaitOnceAndTheListContinues() async throws {
        let slowPages = SlowPages()
        let paginator = try Paginator(slowPages.client(), Request(.get, "/list"), options())
        let results = Results()
        for _ in 0..<2 { paginator.nextPage(on: nil) { results.add($0) } }
        try await eventually("the first page was requested") { slowPages.began == 1 }
        paginator.cancel()
        try await eventually("both requests have results") { results.count == 2 }
        #expect(results.kinds == [.cancelled, .cancelled] && slowPages.cancelled == 1)
        paginator.nextPage(on: nil) { results.add($0) }
        try await eventually("the page was requested again") { slowPages.began == 2 }
        slowPages.respond(#"{"items":[1],"next_cursor":null}"#)
        try await eventually("the page arrived") { results.numbers.last == 1 }
    }

    @Test func cancelledTaskEndsOnlyItsWait() async throws {
        let slowPages = SlowPages()
        let paginator = try Paginator(slowPages.client(), Request(.get, "/list"), options())
        let first = Task { try await paginator.nextPage() }
        try await eventually("the page was requested") { slowPages.began == 1 }
        let results = Results()
        paginator.nextPage(on: nil) { results.add($0) }
        first.cancel()
        await #expect(throws: NightjarError.self) { try await first.value }
        #expect(slowPages.cancelled == 0)
        slowPages.respond(#"{"items":[1],"next_cursor":null}"#)
        try await eventually("the other request received the page") { results.numbers == [1] }
    }

    @Test func droppingThePaginatorCancelsTheLoad() async throws {
        let slowPages = SlowPages()
        let api = try slowPages.client()
        let results = Results()
        do {
            let paginator = try Paginator(api, Request(.get, "/list"), options())
            paginator.nextPage(on: nil) { results.add($0) }
            try await eventually("the page was requested") { slowPages.began == 1 }
        }
        try await eventually("the load was cancelled") { slowPages.cancelled == 1 && results.kinds == [.cancelled] }
    }

    @Test func closingTheQueueFailsPendingRequests() async throws {
        let slowPages = SlowPages()
        let paginator = try Paginator(slowPages.client(), Request(.get, "/list"), options())
        let queue = CompletionQueue()
        let results = Results()
        paginator.nextPage(on: queue) { results.add($0) }
        try await eventually("the page was requested") { slowPages.began == 1 }
        queue.close()
        #expect(results.kinds == [.cancelled])
        paginator.nextPage(on: queue) { results.add($0) }
        #expect(results.kinds == [.cancelled, .closed])
    }

    @Test func closingTheClientFailsPendingRequests() async throws {
        let slowPages = SlowPages()
        let api = try slowPages.client()
        let paginator = try Paginator(api, Request(.get, "/list"), options())
        let results = Results()
        for _ in 0..<3 { paginator.nextPage(on: nil) { results.add($0) } }
        try await eventually("the page was requested") { slowPages.began == 1 }
        api.close()
        #expect(results.count == 3 && results.kinds.allSatisfy { $0 == .cancelled || $0 == .closed })
    }

    // MARK: Positions

    @Test func listIsResumedInAnotherRun() throws {
        let paginator = try Paginator(client(ScriptedTransport(three)), Request(.get, "/list"), options(.guess))
        let first = try #require(try paginator.nextPageBlocking())
        let transport = ScriptedTransport(Array(three[1...]))
        let rest = try Paginator(client(transport), Request(.get, "/list"), options(.guess), resuming: paginator.state)
        #expect(texts(try rest.nextPageBlocking()) == ["3"])
        #expect(targets(transport) == ["/v1/list?cursor=a"])
        let middle = try Paginator(
            client(ScriptedTransport(three)), Request(.get, "/list"), options(.guess),
            resuming: first.state(consumed: 1))
        #expect(texts(try middle.nextPageBlocking()) == [#"{"a" : 2}"#])
        #expect(throws: NightjarError.self) {
            try Paginator(client(ScriptedTransport([])), Request(.get, "/other"), resuming: paginator.state)
        }
    }

    @Test func refreshStartsOver() throws {
        let transport = ScriptedTransport([three[0], three[0], three[1]])
        let paginator = try Paginator(client(transport), Request(.get, "/list"), options())
        let start = paginator.state
        #expect(try paginator.nextPageBlocking()?.number == 1)
        #expect(paginator.state != start)
        paginator.refresh()
        #expect(try paginator.nextPageBlocking()?.number == 1)
        #expect(try paginator.nextPageBlocking()?.number == 2)
        #expect(targets(transport) == ["/v1/list", "/v1/list", "/v1/list?cursor=a"])
    }

    @Test func customHandlerProvidesTheNextPage() throws {
        let transport = ScriptedTransport([page("[1]"), page("[2]"), page("[3]")])
        let paginator = try Paginator(client(transport), Request(.get, "/list"), options(.custom))
        #expect(texts(try paginator.nextPageBlocking()) == ["1"])
        #expect(throws: NightjarError.self) { try paginator.nextPageBlocking() }
        paginator.setNext(.query([("p", "2")]))
        #expect(texts(try paginator.nextPageBlocking()) == ["2"])
        paginator.setNext(.url("https://elsewhere.test/"))
        #expect {
            try paginator.nextPageBlocking()
        } throws: {
            ($0 as? NightjarError)?.kind == .protocol
        }
        paginator.setNext(.url("more"))
        #expect(texts(try paginator.nextPageBlocking()) == ["3"])
        paginator.setNext(.end)
        #expect(try paginator.nextPageBlocking() == nil)
        #expect(targets(transport) == ["/v1/list", "/v1/list?p=2", "/v1/more"])
    }

    // MARK: Sequences

    private struct Thing: Decodable, Equatable {
        let id: Int
    }

    private var things: [[Step]] {
        [
            page(#"{"items":[{"id":1},{"id":2}],"next_cursor":"a"}"#),
            page(#"{"items":[{"id":3}],"next_cursor":null}"#),
        ]
    }

    @Test func itemsAreASequence() async throws {
        let api = try client(ScriptedTransport(things))
        var seen: [JSONValue] = []
        for try await item in api.items(Request(.get, "/list"), options()) { seen.append(item) }
        #expect(seen == (1...3).map { .object([.init("id", .integer($0))]) })
    }

    @Test func itemsAreDecoded() async throws {
        let transport = ScriptedTransport(things)
        let api = try client(transport)
        var seen: [Thing] = []
        for try await thing in api.items(Request(.get, "/list"), options(), as: Thing.self).prefix(2) {
            seen.append(thing)
        }
        #expect(seen == [Thing(id: 1), Thing(id: 2)])
        #expect(targets(transport).count == 1)
    }

    @Test func pagesAreASequence() async throws {
        let api = try client(ScriptedTransport(three))
        var counts: [Int] = []
        for try await page in api.pages(Request(.get, "/list"), options()) { counts.append(page.count) }
        #expect(counts == [2, 1, 1])
    }

    @Test func blockingThreadIterates() throws {
        let api = try client(ScriptedTransport(things))
        var items = api.items(Request(.get, "/list"), options(), as: Thing.self).makeBlockingIterator()
        #expect(items.state == nil)
        #expect(try items.next() == Thing(id: 1))
        let state = try #require(items.state)
        #expect(try items.next() == Thing(id: 2))
        #expect(try items.next() == Thing(id: 3))
        #expect(try items.next() == nil)
        var rest = try client(ScriptedTransport(things))
            .items(Request(.get, "/list"), options(), as: Thing.self, resuming: state).makeBlockingIterator()
        #expect(try rest.next() == Thing(id: 2))
    }
}

/// The results of requests for pages.
private final class Results: Sendable {
    private let all = Mutex<[Result<Page?, NightjarError>]>([])

    func add(_ result: Result<Page?, NightjarError>) { all.withLock { $0.append(result) } }

    var count: Int { all.withLock { $0.count } }
    var numbers: [Int?] { all.withLock { $0.map { result in (try? result.get())?.number } } }
    var kinds: [ErrorKind] {
        all.withLock { $0.compactMap { result in if case .failure(let error) = result { error.kind } else { nil } } }
    }
}

/// A transport that responds when the test calls `respond`.
private final class SlowPages: HTTPTransport, @unchecked Sendable {
    private let log = Mutex((began: 0, cancelled: 0))
    private let loop = Mutex<(any EventLoop)?>(nil)
    private var receivers: [any ExchangeReceiver] = []

    var began: Int { log.withLock { $0.began } }
    var cancelled: Int { log.withLock { $0.cancelled } }

    func client() throws -> Client {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test/v1"
        configuration.retry.maximumAttempts = 1
        // No timeouts apply, because concurrent tests may occupy Swift's threads for a minute.
        let none = Timeouts.unlimited
        configuration.timeouts = Timeouts(connect: none, idle: none, total: none)
        return try Client(configuration) { loop in
            self.loop.withLock { $0 = loop }
            return self
        }
    }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        receivers.append(receiver)
        receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
        log.withLock { $0.began += 1 }
        return Held(self)
    }

    /// Responds to the latest request.
    func respond(_ body: String) {
        loop.withLock { $0 }?.execute { [self] in
            guard let receiver = receivers.popLast() else { return }
            receiver.exchangeReceived(head: ResponseHead(status: 200))
            receiver.exchangeReceived(body: ByteBuffer(string: body))
            receiver.exchangeFinished(trailers: Headers())
        }
    }

    func shutDown() { receivers = [] }

    private final class Held: Exchange {
        private let transport: SlowPages
        init(_ transport: SlowPages) { self.transport = transport }
        func cancel() { transport.log.withLock { $0.cancelled += 1 } }
        func pause() {}
        func resume() {}
        func send(_ part: ByteBuffer) {}
        func endBody() {}
    }
}
