import NightjarHTTP
import NightjarTransport
import Testing

@testable import Nightjar

/// The bytes that wait to be sent over a WebSocket.
@Suite(.timeLimit(.minutes(1))) struct WebSocketSendLimitTests {
    private let limit = WebSocketSendLimit(1000)

    @Test func senderIsNotifiedOnceWhenHalfIsFree() {
        #expect(limit.reserve(900))
        #expect(!limit.reserve(200))
        #expect(!limit.roomIsWanted())
        limit.release(300)
        #expect(!limit.roomIsWanted())
        limit.release(100)
        #expect(limit.roomIsWanted())
        #expect(!limit.roomIsWanted())
        #expect(limit.reserve(200))
    }

    @Test func senderOfALargeMessageIsNotifiedWhenItFits() {
        #expect(limit.reserve(300))
        #expect(!limit.reserve(900))
        #expect(!limit.roomIsWanted())
        #expect(!limit.hasRoom(for: 900))
        limit.release(200)
        #expect(limit.roomIsWanted())
        #expect(limit.hasRoom(for: 900))
        #expect(limit.reserve(900))
    }

    @Test func messageAboveTheMaximumNeedsAnEmptyQueue() {
        #expect(limit.reserve(1))
        #expect(!limit.reserve(2000))
        #expect(!limit.hasRoom(for: 2000))
        limit.release(1)
        #expect(limit.roomIsWanted())
        #expect(limit.reserve(2000))
        #expect(!limit.reserve(1))
    }

    /// Half of the queue is free, but the message does not fit.
    @Test func waitingForRoomEndsAtTheDeadline() {
        #expect(limit.reserve(300))
        #expect(!limit.waitForRoom(for: 900, until: Monitor.deadline(after: .milliseconds(20))))
        #expect(limit.waitForRoom(for: 500, until: Monitor.deadline(after: .milliseconds(20))))
    }

    @Test func sendsAreAcceptedAgain() throws {
        limit.refuse(WebSocketSession.notConnected)
        #expect(throws: NightjarError.self) { try limit.check() }
        limit.accept()
        try limit.check()
    }

    /// Another connection may be opened, or be lost, while the WebSocket is being closed.
    @Test func endIsFinal() {
        limit.end(WebSocketSession.closed)
        limit.accept()
        limit.refuse(WebSocketSession.notConnected)
        #expect {
            try limit.check()
        } throws: {
            ($0 as? NightjarError)?.kind == .closed
        }
    }
}
