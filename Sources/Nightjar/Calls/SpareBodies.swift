import NIOCore

/// Memory of bodies that nobody reads any more, for those that come next.
///
/// What is larger than a kibibyte is beyond what malloc keeps at hand for a thread: taking it and giving it back costs a small call
/// a twentieth of its time. What was read last is still in the processor's cache.
///
/// Belongs to the loop.
struct SpareBodies {
    private var bodies: [ByteBuffer] = []
    /// What they take.
    private(set) var bytes = 0

    /// - Parameter body: of an answer that ends. Whoever else holds it keeps it.
    mutating func keep(_ body: ByteBuffer) {
        let size = body.storageCapacity
        guard size > 0, size <= SpareBodies.largest, bytes + size + SpareBodies.overhead <= SpareBodies.mostBytes
        else { return }
        bytes += size + SpareBodies.overhead
        bodies.append(body)
    }

    /// - Returns: an empty buffer with room for so many bytes, or without memory if that is more than the pool's buffers have.
    mutating func take(_ room: Int) -> ByteBuffer {
        guard room <= SpareBodies.largest else { return ByteBuffer() }
        guard var body = bodies.popLast() else { return ByteBufferAllocator().buffer(capacity: room) }
        let size = body.storageCapacity
        bytes -= size + SpareBodies.overhead
        // A short body in the room of a long one would keep it for as long as somebody keeps the answer.
        guard size >= room, size / 4 < room else { return ByteBufferAllocator().buffer(capacity: room) }
        // Where somebody else holds it, this takes other memory.
        body.clear(minimumCapacity: room)
        return body
    }

    /// In bytes; what takes longer to fill than to get is not kept.
    private static let largest = 64 * 1024
    /// Of one that is kept, beside its bytes.
    private static let overhead = 128
    /// A client that rests keeps so much.
    private static let mostBytes = 128 * 1024
}
