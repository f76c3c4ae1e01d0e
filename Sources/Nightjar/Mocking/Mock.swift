import NIOCore
import NightjarHTTP
import NightjarTransport
import Synchronization

/// Answers in place of servers, and what has been asked of them.
///
/// It stands where the network is, below everything else of the client: what is mocked is retried, followed, cached and
/// logged in for as it would be otherwise. Any thread may use it; several clients may share one.
public final class Mock: Sendable {
    private let table: Mutex<MockTable>
    let respond: (@Sendable (MockQuestion) -> Void)?

    /// - Parameters:
    ///   - passesUnmatched: whether calls that no route is for go to the network. Otherwise they fail.
    ///   - respond: answers for routes that have a responder, on the client's loop thread, where it must not block.
    /// - Throws: `invalid_argument` for a route without an answer.
    public init(
        _ routes: [MockRoute], passesUnmatched: Bool = false, respond: (@Sendable (MockQuestion) -> Void)? = nil
    ) throws(NightjarError) {
        table = Mutex(try MockTable(routes, passesUnmatched: passesUnmatched))
        self.respond = respond
    }

    init(_ table: MockTable, respond: (@Sendable (MockQuestion) -> Void)? = nil) {
        self.table = Mutex(table)
        self.respond = respond
    }

    func choose(_ request: ArrivedRequest, base: RequestURL?) -> MockTable.Choice {
        table.withLock { $0.choose(request, base: base) }
    }

    public var routes: [MockRoute] { table.withLock { $0.routes } }

    /// The last thousand requests, first to last, those without a route among them: secrets included.
    public var calls: [MockTable.Call] { table.withLock { $0.calls } }

    /// How often the route of this name, or of this pattern (`GET /articles`), was used; nil where there is none such.
    public func uses(of route: String) -> Int? { table.withLock { $0.uses(of: route) } }

    /// Of all routes together.
    public var totalUses: Int { table.withLock { $0.totalUses } }

    /// Forgets what was asked: each sequence begins anew.
    public func reset() { table.withLock { $0.reset() } }

    /// - Throws: `invalid_request` where a route was not asked, or not as often as it says, or a call had none.
    public func verify() throws(NightjarError) {
        if let complaint = table.withLock({ $0.complaint }) { throw complaint }
    }
}

/// A request that the program answers itself, once. Any thread may; one that is let go without an answer fails the call.
public final class MockQuestion: Sendable {
    /// The number that the route gave.
    public let responder: Int
    public let request: ArrivedRequest
    /// Of the path's pattern.
    public let parameters: [(name: String, value: String)]
    private let deliver: Mutex<(@Sendable (Result<MockAnswer, NightjarError>) -> Void)?>

    init(
        _ responder: Int, _ request: ArrivedRequest, _ parameters: [(name: String, value: String)],
        deliver: @escaping @Sendable (Result<MockAnswer, NightjarError>) -> Void
    ) {
        self.responder = responder
        self.request = request
        self.parameters = parameters
        self.deliver = Mutex(deliver)
    }

    deinit { answer(.failure(NightjarError(.script, "the function of the mock's route gave no answer"))) }

    /// What comes behind the first is dropped.
    public func answer(_ answer: Result<MockAnswer, NightjarError>) {
        deliver.withLock { $0.take() }?(answer)
    }
}

extension Mock {
    /// The transport that plays it, over the one that takes what it lets pass.
    func transport(over network: any HTTPTransport, on loop: any EventLoop, base: RequestURL?) -> any HTTPTransport {
        let gate = LoopGate(loop)
        let choose = { [self] (request: ArrivedRequest, exchange: StagedExchange) -> StagedTransport.Course in
            switch self.choose(request, base: base) {
            case .answer(let answer): return .play(answer.script(to: request))
            case .pass: return .pass
            case .fail(let error): return .refuse(error)
            case .ask(let responder, let parameters):
                guard let respond else {
                    return .refuse(NightjarError(.script, "the mock has nobody who answers for its route"))
                }
                let staged = Weak(exchange)
                respond(
                    MockQuestion(responder, request, parameters) { answer in
                        gate.execute {
                            guard let exchange = staged.object else { return }
                            switch answer {
                            case .success(let answer): exchange.take(.play(answer.script(to: request)))
                            case .failure(let error): exchange.take(.refuse(error))
                            }
                        }
                    })
                return .later
            }
        }
        return StagedTransport(over: network, on: loop, choose: choose, whenClosed: gate.close)
    }
}

/// So that a question keeps no exchange that was given up.
private struct Weak: @unchecked Sendable {
    weak var object: StagedExchange?

    init(_ object: StagedExchange) { self.object = object }
}
