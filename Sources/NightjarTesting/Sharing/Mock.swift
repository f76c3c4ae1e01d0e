import NightjarHTTP
import Synchronization

/// Responds instead of servers and records the requests.
///
/// A mock replaces the network below all stages of the client: retries, redirects, the cache and authentication apply
/// to its responses. Any thread may use a mock, and several clients may share a mock.
public final class Mock: Sendable {
    private let table: Mutex<MockTable>
    package let respond: (@Sendable (MockRequest) -> Void)?

    /// Creates a mock with these routes.
    ///
    /// - Parameters:
    ///   - passesUnmatched: Whether calls without a matching route go to the network. Otherwise they fail.
    ///   - respond: Responds for routes with a responder. Runs on the client's loop thread and must not block.
    /// - Throws: `invalid_argument` for too many routes, and for a route without a response or with an invalid fault.
    public init(
        _ routes: [MockRoute], passesUnmatched: Bool = false, respond: (@Sendable (MockRequest) -> Void)? = nil
    ) throws(NightjarError) {
        table = Mutex(try MockTable(routes, passesUnmatched: passesUnmatched))
        self.respond = respond
    }

    package init(_ table: MockTable, respond: (@Sendable (MockRequest) -> Void)? = nil) {
        self.table = Mutex(table)
        self.respond = respond
    }

    package func choose(_ request: ArrivedRequest, base: RequestURL?) -> MockTable.Choice {
        table.withLock { $0.choose(request, base: base) }
    }

    public var routes: [MockRoute] { table.withLock { $0.routes } }

    /// The last requests in order, at most 1000, including unmatched requests and secrets.
    public var requests: [ArrivedRequest] { calls.map(\.request) }

    /// The requests as in ``requests``, each with its route.
    package var calls: [MockTable.Call] { table.withLock { $0.calls } }

    /// Returns the number of uses of the routes with this name or pattern (`GET /articles`). Nil if there is no such
    /// route.
    public func uses(of route: String) -> Int? { table.withLock { $0.uses(of: route) } }

    /// The number of uses of all routes.
    public var totalUses: Int { table.withLock { $0.totalUses } }

    /// Discards the recorded requests and the use counts, and restarts each sequence of responses.
    public func reset() { table.withLock { $0.reset() } }

    /// Checks that the routes were used as required.
    ///
    /// - Throws: `invalid_request` if a route that is not optional was used less often than ``MockRoute/times`` (once
    ///   if nil), or if a call failed because it matched no route.
    public func verify() throws(NightjarError) {
        if let failureMessage = table.withLock({ $0.failureMessage }) { throw failureMessage }
    }
}

/// A request that the program must respond to once. Any thread may respond. If the program releases the object without
/// a response, the call fails.
public final class MockRequest: Sendable {
    /// The responder number of the route.
    public let responder: Int
    public let request: ArrivedRequest
    /// The parameters of the path pattern.
    public let parameters: [(name: String, value: String)]
    private let deliver: Mutex<(@Sendable (Result<MockResponse, NightjarError>) -> Void)?>

    package init(
        _ responder: Int, _ request: ArrivedRequest, _ parameters: [(name: String, value: String)],
        deliver: @escaping @Sendable (Result<MockResponse, NightjarError>) -> Void
    ) {
        self.responder = responder
        self.request = request
        self.parameters = parameters
        self.deliver = Mutex(deliver)
    }

    deinit { respond(.failure(NightjarError(.script, "the function of the mock's route returned no response"))) }

    /// Responds to the request. Has no effect if the request already has a response. If the fault of the response is
    /// invalid, the client's call fails with `invalid_argument`.
    public func respond(_ response: Result<MockResponse, NightjarError>) {
        deliver.withLock { $0.take() }?(response)
    }
}
