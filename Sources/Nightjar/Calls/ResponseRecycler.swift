import NIOCore
import NightjarHTTP

/// Responses without an owner, queued for the loop that created them.
///
/// Freeing them on another thread would return memory to the loop thread's malloc arena under a lock that the loop
/// needs for its next response. With 64 calls in flight, every second call contended for that lock. Memory that the
/// loop frees itself is reused at once. The responses are passed with the messages, under the same lock.
struct ResponseRecycler {
    private var responses: [Response] = []
    private var bytes = 0

    /// Takes a response. If the size limit is reached, the response is not taken, and the caller frees it.
    mutating func take(_ response: Response) {
        let size = ResponseRecycler.overhead + response.body.storageCapacity
        guard bytes + size <= ResponseRecycler.mostBytes else { return }
        bytes += size
        responses.append(response)
    }

    /// Moves all responses to `storage`.
    ///
    /// - Parameter storage: An empty array, whose storage is reused.
    mutating func handOut(_ storage: inout [Response]) {
        swap(&responses, &storage)
        bytes = 0
    }

    /// The size in bytes that an idle client keeps until its next call: about a hundred small responses.
    private static let mostBytes = 256 * 1024
    /// The size of a response without content in bytes: its fields and its metadata.
    private static let overhead = 1024
}
