import Dispatch
import Foundation
import Glibc
import NIOCore
import NightjarHTTP
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

@testable import Nightjar

@Suite struct ClosingTests {
    /// A transport that still has work for 200 ms after the shutdown.
    private final class Lingering: HTTPTransport, @unchecked Sendable {
        let hasEnded = Mutex(false)
        private let loop: any EventLoop

        init(_ loop: any EventLoop) { self.loop = loop }

        func begin(
            _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
        ) -> any Exchange {
            receiver.exchangeStarted(on: nil, isReused: true, stream: nil)
            receiver.exchangeReceived(head: ResponseHead(status: 200))
            receiver.exchangeFinished(trailers: Headers())
            return ScriptedExchange(ScriptedTransport([]))
        }

        func shutDown() {
            loop.execute { [self] in
                usleep(200_000)
                hasEnded.withLock { $0 = true }
            }
        }
    }

    private func client() throws -> (Client, Lingering) {
        let made = Mutex<Lingering?>(nil)
        let api = try Client(Configuration()) { loop in
            let transport = Lingering(loop)
            made.withLock { $0 = transport }
            return transport
        }
        return (api, try #require(made.withLock { $0 }))
    }

    @Test(.timeLimit(.minutes(1))) func closeWaitsForTheEnd() throws {
        let (api, transport) = try client()
        let seen = Mutex<[Bool]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            api.close()
            seen.withLock { $0.append(transport.hasEnded.withLock { $0 }) }
        }
        #expect(seen.withLock { $0 } == [true, true, true, true])
    }

    @Test(.timeLimit(.minutes(1))) func concurrentCloseWaitsForTheLoop() throws {
        let (api, transport) = try client()
        let closed = DispatchSemaphore(value: 0)
        let handlers = TaskHandlers { _, _ in
            api.close()  // returns immediately: the loop cannot wait for itself
            closed.signal()
        }
        _ = try api.start(Request(.get, "http://api.test/"), on: nil, handlers)
        closed.wait()
        api.close()
        #expect(transport.hasEnded.withLock { $0 })
    }

    /// A closed client rejects calls without posting an event. Closing the queue must not wait for an event.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true]) func rejectedCallsDoNotDelayAClosingQueue(ofCatalogs: Bool)
        throws
    {
        let (api, _) = try client()
        api.close()
        let rounds = Mutex(0)
        let thread = Thread {
            for _ in 0..<200 {
                let queue = CompletionQueue()
                DispatchQueue.concurrentPerform(iterations: 4) { number in
                    guard number > 0 else { return queue.close() }
                    for _ in 0..<20 {
                        if ofCatalogs {
                            _ = try? api.startLoadingCatalog(from: "http://api.test/a.json", on: queue) { _ in }
                        } else {
                            _ = try? api.start(Request(.get, "http://api.test/"), on: queue, TaskHandlers { _, _ in })
                        }
                    }
                }
                rounds.withLock { $0 += 1 }
            }
        }
        thread.start()
        try eventually("all queues were closed", within: .seconds(30)) { rounds.withLock { $0 } == 200 }
    }
}
