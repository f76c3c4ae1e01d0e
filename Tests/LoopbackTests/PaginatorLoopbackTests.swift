import Nightjar
import NightjarDemo
import NightjarTestSupport
import Synchronization
import Testing

/// Pagination of the demo API's lists.
@Suite struct PaginatorLoopbackTests {
    private final class Demo: Sendable {
        let server = DemoServer()
        let port: Int

        init() throws { port = try server.start() }

        deinit { server.stop() }

        func client(_ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
            var configuration = Configuration.loopback
            configuration.baseURL = "http://127.0.0.1:\(port)/v1/lists"
            configure(&configuration)
            return try Client(configuration)
        }
    }

    private func identifiers(_ page: Page) throws -> [Int] {
        try (0..<page.count).map { index in
            guard case .integer(let id) = try page.json(index)["id"] else { return -1 }
            return Int(id)
        }
    }

    private func traversal(_ api: Client, _ target: String, _ options: Pagination) throws -> [Int] {
        let paginator = try Paginator(api, Request(.get, target), options)
        var ids: [Int] = []
        while let page = try paginator.nextPageBlocking() { ids += try identifiers(page) }
        return ids
    }

    /// The pagination styles of the demo, with the options that the paginator cannot detect.
    private static let styles: [(path: String, options: @Sendable () throws -> Pagination)] = [
        ("page", { Pagination(.guess) }), ("offset", { Pagination(.guess) }), ("cursor", { Pagination(.guess) }),
        ("after", { Pagination(.guess) }), ("link", { Pagination(.guess) }), ("next", { Pagination(.guess) }),
        ("page", { Pagination(.page) }), ("offset", { Pagination(.offset) }), ("cursor", { Pagination(.cursor) }),
        ("link", { Pagination(.link) }), ("next", { Pagination(.next) }),
        (
            "token",
            {
                var options = Pagination(.header)
                options.header = "X-Next-Token"
                options.requestHeader = "X-Token"
                return options
            }
        ),
    ]

    @Test(arguments: styles.indices)
    func eachStyleReachesTheLastPage(index: Int) throws {
        let demo = try Demo()
        let api = try demo.client()
        let (path, options) = PaginatorLoopbackTests.styles[index]
        for count in [0, 1, 7, 20, 45] {
            let ids = try traversal(api, "/s\(count)/\(path)?count=\(count)&limit=10", options())
            #expect(ids == (0..<count).map { ($0 + 1) * 1000 }, "\(path), \(count) items")
        }
    }

    @Test(arguments: ["cursor", "link"])
    func changesBetweenPagesDoNotSkipOrRepeatRemainingItems(path: String) throws {
        let demo = try Demo()
        let api = try demo.client()
        let ids = try traversal(api, "/changing/\(path)?count=10000&limit=100&changes=both", Pagination(.guess))
        let response = try api.sendBlocking(Request(.get, "/changing/survivors")).json
        guard case .array(let gone)? = response["deleted"] else {
            Issue.record("the response has no member \"deleted\"")
            return
        }
        let deleted = Set(
            gone.compactMap { value -> Int? in if case .integer(let id) = value { Int(id) } else { nil } })
        #expect(!deleted.isEmpty && Set(ids).count == ids.count)
        let survivors = (1...10_000).map { $0 * 1000 }.filter { !deleted.contains($0) }
        #expect(Set(survivors).isSubset(of: ids))
    }

    @Test func offsetPagesWithAKeyReturnNoItemTwice() throws {
        let demo = try Demo()
        let api = try demo.client()
        var options = Pagination(.offset)
        options.key = try JSONPointer("/id")
        let ids = try traversal(api, "/inserts/offset?count=10000&limit=100&changes=insert", options)
        #expect(Set(ids).count == ids.count && ids.count >= 10_000)
        options.key = nil
        let plain = try traversal(api, "/inserts2/offset?count=10000&limit=100&changes=insert&order=newest", options)
        #expect(Set(plain).count < plain.count)
    }

    @Test(arguments: [
        ("cursor", Pagination.Style.link), ("cursor", .next), ("link", .cursor), ("link", .next), ("next", .cursor),
        ("page", .cursor), ("token", .cursor), ("token", .link), ("after", .next), ("token", .guess),
    ])
    func mismatchedStyleIsAnError(path: String, style: Pagination.Style) throws {
        let demo = try Demo()
        let error = #expect(throws: NightjarError.self) {
            try traversal(demo.client(), "/wrong/\(path)?count=1000", Pagination(style))
        }
        #expect(error?.kind == .decoding, "\(error.map(String.init(describing:)) ?? "")")
    }

    @Test func repeatedFirstPageIsAnError() throws {
        let demo = try Demo()
        for path in ["page", "offset", "cursor", "link", "next"] {
            let error = #expect(throws: NightjarError.self) {
                try traversal(demo.client(), "/again/\(path)?count=100&limit=10&repeat=page", Pagination(.guess))
            }
            #expect(error?.kind == .protocol, "\(path)")
        }
    }

    /// Only the style `custom` supports a server that keeps the position itself. In all other styles, the position must
    /// change.
    @Test func repeatedCursorIsAnError() throws {
        let demo = try Demo()
        let error = #expect(throws: NightjarError.self) {
            try traversal(demo.client(), "/odd/cursor?count=100&limit=10&repeat=cursor", Pagination(.guess))
        }
        #expect(error?.kind == .protocol)
    }

    @Test func emptyPagesAndMissingCursorsAreTraversed() throws {
        let demo = try Demo()
        for query in ["empty=3", "end=empty", "end=absent", "empty=2&end=absent"] {
            let ids = try traversal(
                demo.client(), "/odd-\(query.utf8.count)/cursor?count=100&limit=10&\(query)", Pagination(.guess))
            #expect(ids.count == 100 && Set(ids).count == 100, "\(query)")
        }
    }

    @Test func onlyFailedPagesAreLoadedAgain() throws {
        let demo = try Demo()
        for fault in ["status=500", "drop=1"] {
            let api = try demo.client()
            let request = Request(.get, "/failing-\(fault.utf8.count)/cursor?count=100&limit=10&fail=2,5,10&\(fault)")
            let paginator = try Paginator(api, request)
            var ids: [Int] = []
            var failures = 0
            while failures < 10 {
                do {
                    guard let page = try paginator.nextPageBlocking() else { break }
                    ids += try identifiers(page)
                } catch {
                    failures += 1
                }
            }
            #expect(ids == (1...100).map { $0 * 1000 })
            #expect(failures <= 3, "failed prefetches are repeated without an error")
        }
    }

    @Test func rateLimitDelaysTheNextPage() throws {
        let demo = try Demo()
        let target = "/limited/cursor?count=50&limit=10&rate=3&retry_after=0"
        let paginator = try Paginator(demo.client(), Request(.get, target), timeout: .seconds(30))
        var count = 0
        while let page = try paginator.nextPageBlocking() { count += page.count }
        #expect(count == 50)
    }

    @Test func otherOriginIsRejectedAndReceivesNoCredentials() throws {
        let demo = try Demo()
        let other = try Demo()
        let target = "/abroad/next?count=20&limit=10&foreign=http://127.0.0.1:\(other.port)"
        let api = try demo.client { $0.auth = .bearer("secret") }
        #expect {
            try traversal(api, target, Pagination(.guess))
        } throws: {
            ($0 as? NightjarError)?.kind == .protocol
        }
        var options = Pagination(.guess)
        options.allowedOrigins = ["http://127.0.0.1:\(other.port)"]
        // The first request to the other server creates a list with the same name.
        let ids = try traversal(api, target, options)
        #expect(ids == (1...20).map { $0 * 1000 })
    }

    @Test func listIsResumedFromEveryPage() throws {
        let demo = try Demo()
        let api = try demo.client()
        for path in ["page", "offset", "cursor", "after", "link", "next"] {
            let request = Request(.get, "/resumed/\(path)?count=50&limit=10")
            let paginator = try Paginator(api, request)
            var seen = 0
            while let page = try paginator.nextPageBlocking() {
                seen += page.count
                let rest = try Paginator(api, request, resuming: page.state(consumed: 4))
                let next = try #require(try rest.nextPageBlocking())
                #expect(try identifiers(next).first == (seen - page.count + 5) * 1000, "\(path)")
                let behind = try Paginator(api, request, resuming: paginator.state)
                #expect(try behind.nextPageBlocking().map(identifiers)?.first == (seen < 50 ? (seen + 1) * 1000 : nil))
            }
            #expect(seen == 50)
        }
    }

    /// The target is 60 % of the sequential time. The test allows 80 % and three measurements for busy machines.
    @Test func pagesArePrefetchedWhileOthersAreConsumed() throws {
        let demo = try Demo()
        let api = try demo.client()
        func time(prefetch: Int) throws -> Duration {
            var options = Pagination(.cursor)
            options.prefetch = prefetch
            let paginator = try Paginator(api, Request(.get, "/slow/cursor?count=250&limit=10&delay=20"), options)
            let clock = ContinuousClock()
            return try clock.measure {
                while try paginator.nextPageBlocking() != nil {
                    let end = clock.now + .milliseconds(20)
                    while clock.now < end {}
                }
            }
        }
        var tooSlow: [String] = []
        for _ in 0..<3 {
            let (ahead, sequential) = (try time(prefetch: 1), try time(prefetch: 0))
            if ahead < sequential * 0.8 { return }
            tooSlow.append("\(ahead) of \(sequential)")
        }
        Issue.record("with prefetching: \(tooSlow)")
    }
}
