import Glibc
import Nightjar
import NightjarDemo
import NightjarTestSupport
import Testing

/// GraphQL operations of a client, against the demo API and scripted servers.
@Suite struct GraphQLClientTests {
    private final class Demo: Sendable {
        let server = DemoServer()
        let client: Client

        init(_ configure: (inout Configuration) -> Void = { _ in }) throws {
            var configuration = Configuration.loopback
            configuration.timeouts = .long
            configuration.baseURL = "http://127.0.0.1:\(try server.start())"
            configure(&configuration)
            client = try Client(configuration)
        }

        deinit {
            client.close()
            server.stop()
        }

        var api: GraphQLClient { client.graphQL("/graphql") }
    }

    private static let article = "query($id: ID!) { article(id: $id) { id title secret } }"
    private static let comment = "mutation($input: CreateCommentInput!) { createComment(input: $input) { id body } }"
    private static let list = """
        query($n: Int, $after: String) {
          articles(first: $n, after: $after) { pageInfo { endCursor hasNextPage } edges { node { id title } } }
        }
        """

    private struct Article: Decodable {
        var id: String
        var title: String
    }

    @Test func partialDataIsKept() async throws {
        let demo = try Demo()
        let result = try await demo.api.query(Self.article, variables: ["id": 2])
        #expect(try result.decode(Article.self, at: JSONPointer("/article")).id == "2")
        #expect(result.data["article"]?["secret"] == .null)
        #expect(result.errors.map(\.message) == ["the field secret cannot be read"])
        #expect(result.errors.first?.path.description == "/article/secret")
        #expect(result.errors.first?.code == "FORBIDDEN")
        #expect(result.response?.headers["Content-Type"] == "application/graphql-response+json")
    }

    @Test func rejectedOperationIsAnError() async throws {
        let demo = try Demo()
        let error = await #expect(throws: NightjarError.self) { try await demo.api.query("{ nothing }") }
        #expect(error?.kind == .graphQL && error?.status == 400)
        #expect(error?.requestMayHaveBeenProcessed == false)
        #expect(error?.graphQLErrors.first?.message.contains("nothing") == true)
    }

    /// The older media type: errors have the status 200.
    @Test func rejectedOperationOfAnOlderServerIsAnError() async throws {
        let demo = try Demo()
        var api = demo.api
        try api.request.headers.set("Accept", "application/json")
        let error = await #expect(throws: NightjarError.self) { try await api.query("{ nothing }") }
        #expect(error?.kind == .graphQL && error?.status == 200)
    }

    @Test func operationOfAnotherKindIsNotSent() async throws {
        let peer = try longLivedPeer([])
        let api = try longLivedClient(of: peer).graphQL("/graphql")
        let query = await #expect(throws: NightjarError.self) { try await api.query("mutation { a }") }
        #expect(query?.message == "the GraphQL operation is a mutation, not a query")
        let mutation = await #expect(throws: NightjarError.self) { try await api.mutate("{ a }") }
        #expect(mutation?.message == "the GraphQL operation is a query, not a mutation")
        let subscription = #expect(throws: NightjarError.self) { try api.request("subscription { a }") }
        #expect(subscription?.kind == .invalidArgument)
        #expect(peer.connectionCount == 0)
    }

    @Test func mutationReturnsItsData() async throws {
        let demo = try Demo()
        let result = try await demo.api.mutate(
            Self.comment, variables: ["input": ["articleId": 1, "authorId": "1", "body": "new"]])
        #expect(result.data["createComment"]?["body"] == "new")
        let failure = await #expect(throws: NightjarError.self) {
            try await demo.api.mutate(
                Self.comment, variables: ["input": ["articleId": 99_999, "authorId": 1, "body": "x"]])
        }
        #expect(failure?.kind == .graphQL && failure?.requestMayHaveBeenProcessed == true)
        #expect(failure?.graphQLErrors.first?.code == "NOT_FOUND")
    }

    @Test func connectionIsAList() async throws {
        let demo = try Demo()
        var titles: [String] = []
        for try await article in try demo.api.items(Self.list, variables: ["n": 7], as: Article.self) {
            titles.append(article.title)
        }
        #expect(titles.count == 25 && Set(titles).count == 25)
    }

    @Test func listContinuesAtAState() async throws {
        let demo = try Demo()
        var items = try demo.api.items(Self.list, variables: ["n": 10]).makeAsyncIterator()
        for _ in 0..<13 { _ = try await items.next() }
        let state = try #require(items.state)
        var rest: [JSONValue] = []
        for try await item in try demo.api.items(Self.list, variables: ["n": 10], resuming: state) {
            rest.append(item["id"] ?? .null)
        }
        #expect(rest.first == "14" && rest.count == 12)
    }

    @Test func variablesAreCheckedAgainstTheSchema() async throws {
        let folder = try TemporaryDirectory()
        let demo = try Demo()
        var api = demo.api
        let path = folder.path + "/new/schema.json"
        api.schema = try await api.loadSchema(file: .path(path))
        let error = await #expect(throws: NightjarError.self) {
            try await api.mutate(Self.comment, variables: ["input": ["articleId": 1, "authorId": 1, "bodi": "x"]])
        }
        #expect(
            error?.message
                == "the variable \"input\" has the field \"bodi\", which CreateCommentInput does not have; did you mean \"body\"?"
        )
        // The file is used instead of the server.
        demo.server.stop()
        _ = try await api.loadSchema(file: .path(path))
        _ = try api.loadSchemaBlocking(file: .path(path))
        let gone = await #expect(throws: NightjarError.self) {
            try await api.loadSchema(file: .path(path), maximumAge: .zero)
        }
        #expect(gone?.kind == .connect || gone == nil)
    }

    @Test func damagedSchemaFileIsReplaced() async throws {
        let folder = try TemporaryDirectory()
        let demo = try Demo()
        let path = folder.path + "/schema.json"
        try folder.write("schema.json", "{}")
        chmod(path, 0o600)
        _ = try await demo.api.loadSchema(file: .path(path))
        #expect(try folder.read("schema.json").count > 1000)
        let shared = await #expect(throws: NightjarError.self) {
            try await demo.api.loadSchema(file: .path("/dev/null/x"))
        }
        #expect(shared?.kind == .storage)
    }

    // MARK: Subscriptions

    private static let countdown = "subscription($from: Int!) { countdown(from: $from) }"

    private func numbers(_ subscription: GraphQLClient.Subscription) async throws -> [JSONValue] {
        var found: [JSONValue] = []
        for try await result in subscription { found.append(result.data["countdown"] ?? .null) }
        return found
    }

    @Test func subscriptionReturnsResults() async throws {
        let demo = try Demo()
        #expect(try await numbers(demo.api.subscribe(Self.countdown, variables: ["from": 3])) == [3, 2, 1, 0])
        let events = try demo.api.subscribe(Self.countdown, variables: ["from": 3], over: .events)
        #expect(try await numbers(events) == [3, 2, 1, 0])
    }

    @Test func leavingTheLoopEndsTheSubscription() async throws {
        let demo = try Demo()
        for transport in [GraphQLClient.SubscriptionTransport.webSocket(), .events] {
            for try await _ in try demo.api.subscribe(
                Self.countdown, variables: ["from": 1_000_000], over: transport)
            { break }
            try await eventually("the subscription ends") { demo.server.statistics.graphQLSubscriptions == 0 }
        }
    }

    @Test func failureOfTheSourceIsThrown() async throws {
        let demo = try Demo()
        var results = try demo.api.subscribe("subscription { failing(after: 1) }").makeAsyncIterator()
        #expect(try await results.next(isolation: nil)?.errors == [])
        let error = await #expect(throws: NightjarError.self) { try await results.next(isolation: nil) }
        #expect(error?.kind == .graphQL)
    }

    // MARK: Retries and caching

    private static func retrying(_ configuration: inout Configuration) {
        configuration.retry.maximumAttempts = 2
        configuration.retry.base = .zero
    }

    private static let lost: [ScriptedPeer.Step] = [.expectRequest, .close]
    private static let found: [ScriptedPeer.Step] = [
        .expectRequest,
        .respond(headers: ["Content-Type: application/json"], body: #"{"data": {"a": 1}}"#),
    ]

    @Test func queryIsRetried() async throws {
        let peer = try longLivedPeer([Self.lost, Self.found])
        let api = try longLivedClient(of: peer, Self.retrying).graphQL("/graphql")
        #expect(try await api.query("{ a }").data == ["a": 1])
        #expect(peer.requests.map(\.method) == ["POST", "POST"])
        #expect(peer.requests.map(\.body).allSatisfy { $0 == Array(#"{"query":"{ a }"}"#.utf8) })
    }

    @Test func mutationIsNotRetriedWithoutAKey() async throws {
        let peer = try longLivedPeer([Self.lost, Self.found])
        let api = try longLivedClient(of: peer, Self.retrying).graphQL("/graphql")
        let error = await #expect(throws: NightjarError.self) { try await api.mutate("mutation { a }") }
        #expect(error?.kind == .connectionLost && error?.requestMayHaveBeenProcessed == true)
        #expect(peer.requests.count == 1)
        let keyed = try longLivedPeer([Self.lost, Self.found])
        let again = try longLivedClient(of: keyed, Self.retrying).graphQL("/graphql")
        #expect(try await again.mutate("mutation { a }", idempotencyKey: .generated).data == ["a": 1])
        let keys = keyed.requests.map { $0["Idempotency-Key"] }
        #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
    }

    @Test func getQueryIsCached() async throws {
        let peer = try longLivedPeer([
            [
                .expectRequest,
                .respond(
                    headers: ["Content-Type: application/graphql-response+json", "Cache-Control: max-age=86400"],
                    body: #"{"data": {"a": 1}}"#),
            ]
        ])
        var api = try longLivedClient(of: peer) { $0.cache = try? CacheStorage() }.graphQL("/graphql")
        api.request.method = .get
        for _ in 0..<2 {
            #expect(
                try await api.query("query A($b: Int) { a }", variables: ["b": 1], operation: "A").data == ["a": 1])
        }
        #expect(
            peer.requests.map(\.target)
                == [
                    "/graphql?query=query%20A%28%24b%3A%20Int%29%20%7B%20a%20%7D&operationName=A&variables=%7B%22b%22%3A1%7D"
                ])
    }

    @Test func otherResponseIsAnError() async throws {
        let peer = try longLivedPeer([[.expectRequest, .respond(body: "<html>")]])
        let error = await #expect(throws: NightjarError.self) {
            try await longLivedClient(of: peer).graphQL("/graphql").query("{ a }")
        }
        #expect(error?.kind == .decoding)
    }

    /// A large response is checked on a worker thread.
    @Test func largeResponseIsChecked() async throws {
        let padding = String(repeating: "x", count: 100_000)
        let peer = try longLivedPeer([
            [
                .expectRequest, .respond(body: Bytes(#"{"data": {"a": "\#(padding)"}}"#.utf8)), .expectRequest,
                .respond(body: Bytes(#"{"extensions": "\#(padding)", "errors": [{"message": "no"}]}"#.utf8)),
            ]
        ])
        let api = try longLivedClient(of: peer).graphQL("/graphql")
        #expect(try await api.query("{ a }").data["a"] == .string(padding))
        let error = await #expect(throws: NightjarError.self) { try await api.query("{ a }") }
        #expect(error?.kind == .graphQL)
    }
}
