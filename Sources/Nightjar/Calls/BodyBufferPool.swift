import NIOCore

/// A buffer pool for response bodies.
///
/// Buffers above 1 KiB are not in malloc's per-thread cache: allocating and freeing one takes a twentieth of the time
/// of a small call. A recently used buffer is also still in the processor's cache.
///
/// Used on the loop.
struct BodyBufferPool {
    private var bodies: [ByteBuffer] = []
    /// The size of the pooled buffers in bytes, including overhead.
    private(set) var bytes = 0

    /// Adds the buffer of a response that is no longer used, unless the buffer is too large or the pool is full. Other
    /// references to the buffer stay valid.
    mutating func keep(_ body: ByteBuffer) {
        let size = body.storageCapacity
        guard size > 0, size <= BodyBufferPool.largest,
            bytes + size + BodyBufferPool.overhead <= BodyBufferPool.mostBytes
        else { return }
        bytes += size + BodyBufferPool.overhead
        bodies.append(body)
    }

    /// - Returns: An empty buffer with room for `room` bytes, or one without memory if `room` exceeds the pool's
    ///   largest buffer.
    mutating func take(_ room: Int) -> ByteBuffer {
        guard room <= BodyBufferPool.largest else { return ByteBuffer() }
        guard var body = bodies.popLast() else { return ByteBufferAllocator().buffer(capacity: room) }
        let size = body.storageCapacity
        bytes -= size + BodyBufferPool.overhead
        // A short body must not keep a large buffer allocated for as long as its response exists.
        guard size >= room, size / 4 < room else { return ByteBufferAllocator().buffer(capacity: room) }
        // Allocates new memory if the buffer has another reference.
        body.clear(minimumCapacity: room)
        return body
    }

    /// The size in bytes of the largest pooled buffer. Filling a larger buffer takes much longer than allocating it.
    private static let largest = 64 * 1024
    /// The overhead of a pooled buffer in bytes.
    private static let overhead = 128
    /// The maximum size of the pool in bytes. An idle client keeps this memory allocated.
    private static let mostBytes = 128 * 1024
}
