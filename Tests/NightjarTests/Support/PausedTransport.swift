import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTransport
import Synchronization

/// A transport without a network that counts exchanges in progress. It responds two turns of the loop later, with the
/// status at the end of the target, or 200. It never responds to targets that begin with `/v1/hold`.
final class PausedTransport: HTTPTransport, @unchecked Sendable {
    struct Log {
        var started: [String] = []
        var inFlight = 0
        var peak = 0
        var cancelled = 0
    }

    let log = Mutex(Log())
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        let target = request.url.target
        log.withLock { log in
            log.started.append(target)
            log.inFlight += 1
            log.peak = max(log.peak, log.inFlight)
        }
        let exchange = PausedExchange(self)
        receiver.exchangeStarted(on: nil, isReused: false, stream: nil)
        guard !target.hasPrefix("/v1/hold") else { return exchange }
        let status = Int(target.suffix(3)).flatMap { 100...599 ~= $0 ? $0 : nil } ?? 200
        let body = ByteBuffer(string: target)
        // Waits two turns, so that several exchanges are in progress at the same time.
        let response = OnThisLoop { [self] in
            guard exchange.end() else { return }
            log.withLock { $0.inFlight -= 1 }
            receiver.exchangeReceived(head: ResponseHead(status: status, reason: "", headers: Headers()))
            receiver.exchangeReceived(body: body)
            receiver.exchangeFinished(trailers: Headers())
        }
        loop.execute { [loop] in loop.execute { response.run() } }
        return exchange
    }

    func shutDown() {}

    fileprivate func cancelled() {
        log.withLock { log in
            log.cancelled += 1
            log.inFlight -= 1
        }
    }
}

/// Makes a closure sendable. The closure runs only on the loop that created it.
private struct OnThisLoop: @unchecked Sendable {
    let run: () -> Void
}

private final class PausedExchange: Exchange {
    private let transport: PausedTransport
    private var hasEnded = false

    init(_ transport: PausedTransport) { self.transport = transport }

    /// Marks the exchange as ended. Returns false if it had already ended.
    func end() -> Bool {
        defer { hasEnded = true }
        return !hasEnded
    }

    func cancel() {
        if end() { transport.cancelled() }
    }
    func pause() {}
    func resume() {}
    func send(_ part: ByteBuffer) {}
    func endBody() {}
}
