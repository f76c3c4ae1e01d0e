import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

/// A transport without a network. The test sends each response itself and selects the exchange by its target.
final class ManualTransport: HTTPTransport, @unchecked Sendable {
    struct Log {
        /// The targets of all exchanges, in the order in which they began.
        var started: [String] = []
        var cancelled = 0
    }

    let log = Mutex(Log())
    private let loop: any EventLoop
    private var waiting: [(target: String, receiver: any ExchangeReceiver, exchange: ManualExchange)] = []
    /// Actions for the next exchanges with these targets.
    private var actions: [String: (ManualTransport) -> Void] = [:]

    init(_ loop: any EventLoop) { self.loop = loop }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        log.withLock { $0.started.append(request.url.target) }
        let exchange = ManualExchange(self)
        waiting.append((request.url.target, receiver, exchange))
        receiver.exchangeStarted(on: nil, isReused: false, stream: nil)
        actions.removeValue(forKey: request.url.target)?(self)
        return exchange
    }

    func shutDown() { waiting = [] }

    /// Calls `action` on the loop when the next exchange with this target begins.
    func whenStarted(_ target: String, _ action: @escaping @Sendable (ManualTransport) -> Void) {
        loop.execute { [self] in actions[target] = action }
    }

    /// Responds to the oldest waiting exchange with this target.
    ///
    /// - Parameter isWhole: if false, the body never ends.
    func respond(
        _ target: String, _ status: Int = 200, _ fields: [(String, String)] = [], body: String = "",
        isWhole: Bool = true
    ) {
        loop.execute { [self] in
            guard let place = waiting.firstIndex(where: { $0.target == target }) else { return }
            let (_, receiver, exchange) = waiting.remove(at: place)
            guard !exchange.isCancelled else { return }
            var headers = Headers()
            for (name, value) in fields { try? headers.add(name, value) }
            receiver.exchangeReceived(head: ResponseHead(status: status, reason: "", headers: headers))
            guard !exchange.isCancelled else { return }
            if !body.isEmpty { receiver.exchangeReceived(body: ByteBuffer(string: body)) }
            guard isWhole, !exchange.isCancelled else { return }
            receiver.exchangeFinished(trailers: Headers())
        }
    }
}

private final class ManualExchange: Exchange {
    private let transport: ManualTransport
    private(set) var isCancelled = false

    init(_ transport: ManualTransport) { self.transport = transport }

    func cancel() {
        isCancelled = true
        transport.log.withLock { $0.cancelled += 1 }
    }
    func pause() {}
    func resume() {}
    func send(_ part: ByteBuffer) {}
    func endBody() {}
}

/// A client of a ``ManualTransport``, and the results of its calls.
final class ManualSite: Sendable {
    let api: Client
    let transport: ManualTransport
    let results = Mutex<[String: Result<Response, NightjarError>]>([:])

    init(_ configure: (inout Configuration) -> Void = { _ in }) throws {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.retry.maximumAttempts = 1
        // A test decides when a response arrives. On a busy machine, that can take longer than the idle timeout.
        configuration.timeouts.idle = nil
        configure(&configuration)
        let made = Mutex<ManualTransport?>(nil)
        api = try Client(configuration) { loop in
            let transport = ManualTransport(loop)
            made.withLock { $0 = transport }
            return transport
        }
        transport = try #require(made.withLock { $0 })
    }

    /// Starts a call and stores its result under `name`.
    @discardableResult
    func start(_ name: String, _ request: Request) throws -> ClientTask {
        try api.start(request, on: nil, TaskHandlers { _, result in self.results.withLock { $0[name] = result } })
    }

    /// Waits until exchanges for exactly these targets have started, in this order.
    func started(_ targets: [String]) async throws {
        try await eventually("the exchanges of \(targets) began") { transport.log.withLock { $0.started } == targets }
    }

    func result(_ name: String) async throws -> Result<Response, NightjarError> {
        try await eventually("\(name) ended") { results.withLock { $0[name] != nil } }
        return try #require(results.withLock { $0[name] })
    }
}
