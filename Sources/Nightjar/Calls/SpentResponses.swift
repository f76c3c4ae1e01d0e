import NIOCore
import NightjarHTTP

/// Answers that nobody holds any more, on their way back to the loop that made them.
///
/// What another thread frees goes back into the memory of the loop's own thread, under a lock that the loop needs for its next
/// answer: with 64 calls in flight, each second call waited for it or woke who did. What the loop itself frees is at hand for
/// the next. They go with the mail, under its lock.
struct SpentResponses {
    private var responses: [Response] = []
    private var bytes = 0

    /// What is beyond the bounds is not taken, and ends with whoever gives it.
    mutating func take(_ response: Response) {
        let size = SpentResponses.overhead + response.body.storageCapacity
        guard bytes + size <= SpentResponses.mostBytes else { return }
        bytes += size
        responses.append(response)
    }

    /// Hands out all, which end where they are let go.
    ///
    /// - Parameter storage: an empty array, whose storage serves the next.
    mutating func handOut(_ storage: inout [Response]) {
        swap(&responses, &storage)
        bytes = 0
    }

    /// A client that has nothing to do keeps so much until its next call: answers of a hundred small calls.
    private static let mostBytes = 256 * 1024
    /// Of an answer without content: its fields, and what is known of it.
    private static let overhead = 1024
}
