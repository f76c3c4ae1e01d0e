import NIOCore
import NightjarHTTP
import Synchronization

/// Answers that nobody holds any more, on their way back to the loop that made them.
///
/// What another thread frees goes back into the memory of the loop's own thread, under a lock that the loop needs for its next
/// answer: with 64 calls in flight, each second call waited for it or woke who did. What the loop itself frees is at hand for
/// the next.
final class SpentResponses: Sendable {
    private struct Held {
        var responses: [Response] = []
        var bytes = 0
    }

    private let held = Mutex(Held())

    /// Any thread. What is beyond the bounds ends here, as all would.
    func take(_ response: Response) {
        let bytes = SpentResponses.overhead + response.body.storageCapacity
        held.withLock { held in
            guard held.bytes + bytes <= SpentResponses.mostBytes else { return }
            held.bytes += bytes
            held.responses.append(response)
        }
    }

    /// On the loop, with each mail.
    ///
    /// - Parameter storage: an empty array, whose storage serves the next.
    func free(_ storage: inout [Response]) {
        held.withLock { held in
            swap(&held.responses, &storage)
            held.bytes = 0
        }
        storage.removeAll(keepingCapacity: true)
    }

    /// A client that has nothing to do keeps so much until its next call: answers of a hundred small calls.
    private static let mostBytes = 256 * 1024
    /// Of an answer without content: its fields, and what is known of it.
    private static let overhead = 1024
}
