import NIOCore
import NightjarHTTP

/// A response that the program stores in the cache, as if a server had sent it.
struct CacheInsertion: Sendable {
    let head: ResponseHead
    let body: ByteBuffer
}
