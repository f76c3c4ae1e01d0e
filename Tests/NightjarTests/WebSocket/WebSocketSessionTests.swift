import NIOCore
import NightjarHTTP
import NightjarTesting
import Testing

@testable import Nightjar

/// The messages that a WebSocket receives while it is being closed.
@Suite(.timeLimit(.minutes(1))) struct WebSocketSessionTests {
    /// The messages that the queue has delivered. Used only on the thread that polls the queue.
    private final class Received: @unchecked Sendable {
        var messages: [WebSocketMessage] = []
        var count = 0
    }

    private let received = Received()
    private let queue = CompletionQueue()

    private func poll(until condition: () -> Bool) {
        while !condition() { queue.poll(timeout: .seconds(10)) }
    }

    /// Runs `body` on the loop, and then the callbacks that it has posted on this thread.
    private func run(on client: Client, _ body: @escaping @Sendable () -> Void) {
        let expected = received.count + 1
        client.loop.submit(
            .run { [received, queue] in
                body()
                client.loop.post(.run { received.count += 1 }, to: queue)
            })
        poll { received.count == expected }
    }

    /// The caller has consumed the delivered pieces, so that the last piece is within the window again.
    @Test func nothingIsDeliveredAfterADroppedPiece() throws {
        var configuration = Configuration()
        configuration.baseURL = "http://api.test"
        configuration.mock = try Mock([MockRoute(.get, "/chat", .webSocket([.receive]))])
        let client = try Client(configuration)
        defer { client.close() }
        var settings = WebSocketSettings()
        settings.deliversPieces = true
        var handlers = WebSocketSession.Handlers { [received] _, message in received.messages.append(message) }
        handlers.creditsAreManual = true
        let session = try client.startWebSocket(Request(.get, "/chat"), settings, on: queue, handlers) { _ in }
        poll { session.currentState == .open }
        let content = ByteBuffer(repeating: 7, count: 65_536)
        run(on: client) {
            try? session.close()
            // Runs after the start of the handshake, and before the response of the server.
            client.loop.submit(
                .run {
                    for number in 0..<8 {
                        session.received(
                            WebSocketMessage(.binary, content, startsMessage: number == 0, endsMessage: false))
                    }
                })
        }
        run(on: client) {}
        let count = received.messages.count
        #expect((1..<8).contains(count))
        for message in received.messages { session.consumed(message) }
        run(on: client) {
            session.received(WebSocketMessage(.binary, content, startsMessage: false, endsMessage: true))
            session.received(WebSocketMessage(.binary, content))
        }
        #expect(received.messages.count == count)
    }
}
