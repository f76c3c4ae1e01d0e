import NIOCore
import NightjarHTTP
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

/// Bodies that a caller rewinds for another attempt.
@Suite struct RewindTests {
    @Test func bodyOfAnEndedAttemptIsNotUsedForTheNext() throws {
        let transport = Mutex<LosingTransport?>(nil)
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.retry.base = .zero
        let api = try Client(configuration) { loop in
            let made = LosingTransport(loop)
            transport.withLock { $0 = made }
            return made
        }
        let requested = Mutex(0)
        var handlers = TaskHandlers { _, _ in }
        handlers.provideBody = { _, _ in
            switch requested.withLock({ count in
                count += 1
                return count
            }) {
            case 1: .later
            case 2: .bytes(ByteBuffer(string: "fresh"))
            default: .end
            }
        }
        // Provides the part that the first attempt requested. That attempt has already ended.
        handlers.rewindBody = { task in task.provide(.bytes(ByteBuffer(string: "stale"))) }
        var request = Request(.put, "/articles/1")
        request.body = .stream(length: nil)
        let response = try api.sendBlocking(request, handlers: handlers)
        #expect(response.status == 200 && response.attempts == 2)
        let sent = transport.withLock { $0?.sent.withLock { $0 } }
        #expect(sent?.joined().contains("fresh") == true)
        #expect(sent?.joined().contains("stale") == false)
    }
}

/// A transport that loses the connection of the first exchange and responds to the second one after its body.
private final class LosingTransport: HTTPTransport, @unchecked Sendable {
    let sent = Mutex<[String]>([])
    private let loop: any EventLoop
    private var started = 0

    init(_ loop: any EventLoop) { self.loop = loop }

    func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        started += 1
        receiver.exchangeStarted(on: nil, isReused: false, stream: nil)
        receiver.exchangeNeedsBody(maximum: 1000)
        if started == 1 { receiver.exchangeFailed(NightjarError(.connectionLost, "lost")) }
        return BodyExchange(self, receiver)
    }

    func shutDown() {}

    private final class BodyExchange: Exchange, @unchecked Sendable {
        private let transport: LosingTransport
        private let receiver: any ExchangeReceiver

        init(_ transport: LosingTransport, _ receiver: any ExchangeReceiver) {
            self.transport = transport
            self.receiver = receiver
        }

        func cancel() {}
        func pause() {}
        func resume() {}

        func send(_ part: ByteBuffer) {
            transport.sent.withLock { $0.append(String(buffer: part)) }
            transport.loop.execute { self.receiver.exchangeNeedsBody(maximum: 1000) }
        }

        func endBody() {
            transport.loop.execute {
                self.receiver.exchangeReceived(head: ResponseHead(status: 200, reason: "", headers: Headers()))
                self.receiver.exchangeFinished(trailers: Headers())
            }
        }
    }
}
