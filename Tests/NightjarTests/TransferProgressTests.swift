import NIOCore
import NightjarHTTP
import Synchronization
import Testing

@testable import Nightjar

@Suite("How far a call has come")
struct TransferProgressTests {
    private final class Told: Sendable {
        let all = Mutex<[TransferProgress]>([])
        let isOver = Mutex(false)

        func handlers() -> TaskHandlers {
            var handlers = TaskHandlers { [self] _, _ in isOver.withLock { $0 = true } }
            handlers.progress = { [self] _, progress in
                // Behind the end nothing is told.
                if !isOver.withLock({ $0 }) { all.withLock { $0.append(progress) } }
            }
            return handlers
        }

        func wait(on queue: CompletionQueue) {
            for _ in 0..<2000 where !isOver.withLock({ $0 }) { queue.poll(timeout: .milliseconds(5)) }
        }
    }

    private func told(_ steps: [ScriptedTransport.Step], _ request: Request) throws -> [TransferProgress] {
        let one = try client(ScriptedTransport([steps]))
        let queue = CompletionQueue()
        let told = Told()
        try one.start(request, on: queue, told.handlers())
        told.wait(on: queue)
        one.close()
        return told.all.withLock { $0 }
    }

    @Test func aCallThatIsOverAtOnceIsToldOnce() throws {
        var request = Request(.post, "/")
        request.body = .bytes(ByteBuffer(string: "12345"))
        let told = try told([.head(200), .body("abc"), .body("defg"), .end], request)
        var whole = TransferProgress()
        (whole.sent, whole.sentTotal, whole.received, whole.receivedTotal) = (5, 5, 7, 7)
        #expect(told == [whole])
    }

    @Test func aCallThatFailsIsNotToldAsComplete() throws {
        #expect(try told([.head(200), .body("abc"), .fail(.connectionLost)], Request(.get, "/")).isEmpty)
        #expect(try told([.head(404), .body("abc"), .end], Request(.get, "/")).isEmpty)
    }

    @Test func anAnswerWithoutABodyMovesNothing() throws {
        // But for the totals, which are known at the end.
        let told = try told([.head(204), .end], Request(.get, "/"))
        var none = TransferProgress()
        (none.sentTotal, none.receivedTotal) = (0, 0)
        #expect(told == [none])
    }
}
