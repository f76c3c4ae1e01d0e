import CMemory
@_spi(CustomByteBufferAllocator) import NIOCore
import NightjarSystem

// Allocates memory for content whose size is decided by a server or by the caller. Swift ends the process if an
// allocation fails; these functions throw instead if they need more than 64 KiB.

extension ByteBuffer {
    /// Copies `bytes`.
    ///
    /// - Parameter purpose: the content, for the error message, such as "the request's body".
    /// - Throws: `no_memory`.
    package init(copying bytes: UnsafeRawBufferPointer, for purpose: String) throws(NightjarError) {
        self.init()
        try reserve(bytes.count, for: purpose)
        writeBytes(bytes)
    }

    /// Appends the readable bytes of `part`.
    ///
    /// - Throws: `no_memory`. The buffer is then unchanged.
    @inlinable
    @inline(__always)
    package mutating func append(_ part: ByteBuffer, for purpose: String) throws(NightjarError) {
        if part.readableBytes > writableBytes { try reserve(part.readableBytes, for: purpose) }
        writeImmutableBuffer(part)
    }

    /// Reserves space for `count` more bytes.
    ///
    /// - Throws: `no_memory`. The buffer is then unchanged.
    @usableFromInline
    package mutating func reserve(_ count: Int, for purpose: String) throws(NightjarError) {
        guard count > writableBytes else { return }
        let needed = readableBytes + count
        guard needed > CheckedMemory.smallest else { return reserveCapacity(minimumWritableBytes: count) }
        // The additional byte is for the NUL terminator that C callers receive.
        let room = max(needed + 1, min(storageCapacity * 2, Int(UInt32.max)))
        guard room <= Int(UInt32.max), let memory = malloc(room) else { throw .noMemory(needed, for: purpose) }
        let storage = UnsafeMutableRawBufferPointer(start: memory, count: room)
        withUnsafeReadableBytes { storage.copyMemory(from: $0) }
        self = ByteBuffer(
            takingOwnershipOf: storage, allocator: CheckedMemory.allocator, writerIndex: readableBytes)
    }
}

package enum CheckedMemory {
    /// Returns true if the system can allocate `bytes` bytes now, or if `bytes` is at most 64 KiB.
    ///
    /// Used for memory that Swift allocates, such as the values of a JSON document. Another thread may take the memory
    /// between this check and the allocation.
    package static func isAvailable(_ bytes: Int) -> Bool { bytes <= smallest || cmemory_is_available(bytes) }

    /// Throws `no_memory` unless ``isAvailable(_:)`` returns true.
    package static func check(_ bytes: Int, for purpose: String) throws(NightjarError) {
        guard isAvailable(bytes) else { throw .noMemory(bytes, for: purpose) }
    }

    /// The largest allocation, in bytes, that is not checked.
    fileprivate static let smallest = 64 * 1024

    /// Uses the same functions as ``ByteBufferAllocator/init()``.
    fileprivate static let allocator = ByteBufferAllocator(
        allocate: { malloc($0) }, reallocate: { pointer, _, size in realloc(pointer, size) }, deallocate: { free($0) },
        copy: { memcpy($0, $1, $2) })
}

extension NightjarError {
    package static func noMemory(_ bytes: Int, for purpose: String) -> NightjarError {
        NightjarError(
            .noMemory,
            "cannot allocate \(bytes) bytes for \(purpose); stream the content, or raise the memory limit of the process",
            code: ENOMEM)
    }
}
