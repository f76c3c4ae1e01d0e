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

    /// - Parameter body: The body of a response that ends. Other references to the buffer stay valid.
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
        // A short body in a large buffer would keep the buffer as long as the response lives.
        guard size >= room, size / 4 < room else { return ByteBufferAllocator().buffer(capacity: room) }
        // Allocates new memory if the buffer has another reference.
        body.clear(minimumCapacity: room)
        return body
    }

    /// In bytes. For larger buffers, filling takes much longer than allocating.
    private static let largest = 64 * 1024
    /// The overhead of a pooled buffer in bytes.
    private static let overhead = 128
    /// The size in bytes that an idle client keeps.
    private static let mostBytes = 128 * 1024
}
