import NIOCore
import NightjarHTTP

/// An answer that the program puts into the cache, as if a server had sent it.
struct PlantedAnswer: Sendable {
    let head: ResponseHead
    let body: ByteBuffer
}
