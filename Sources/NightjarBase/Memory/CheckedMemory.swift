import CLinux
import Glibc
@_spi(CustomByteBufferAllocator) import NIOCore

// Memory for content whose size a server or a caller decides. Swift ends the process when an allocation fails. These functions
// report the failure instead.

extension ByteBuffer {
    /// A copy of `bytes`.
    ///
    /// - Parameter purpose: the content, for the error's message: "the request's body".
    /// - Throws: `no_memory`.
    package init(copying bytes: UnsafeRawBufferPointer, for purpose: String) throws(NightjarError) {
        self.init()
        try reserve(bytes.count, for: purpose)
        writeBytes(bytes)
    }

    /// Appends the readable bytes of `part`.
    ///
    /// - Throws: `no_memory`; this buffer is unchanged then.
    @inlinable
    @inline(__always)
    package mutating func append(_ part: ByteBuffer, for purpose: String) throws(NightjarError) {
        if part.readableBytes > writableBytes { try reserve(part.readableBytes, for: purpose) }
        writeImmutableBuffer(part)
    }

    /// Makes room for `count` more bytes.
    ///
    /// - Throws: `no_memory`; this buffer is unchanged then.
    @usableFromInline
    package mutating func reserve(_ count: Int, for purpose: String) throws(NightjarError) {
        guard count > writableBytes else { return }
        let needed = readableBytes + count
        guard needed > CheckedMemory.smallest else { return reserveCapacity(minimumWritableBytes: count) }
        // A caller in C gets the bytes with a zero byte after them, for which there is room.
        let room = max(needed + 1, min(storageCapacity * 2, Int(UInt32.max)))
        guard room <= Int(UInt32.max), let memory = malloc(room) else { throw .noMemory(needed, for: purpose) }
        let storage = UnsafeMutableRawBufferPointer(start: memory, count: room)
        withUnsafeReadableBytes { storage.copyMemory(from: $0) }
        self = ByteBuffer(
            takingOwnershipOf: storage, allocator: CheckedMemory.allocator, writerIndex: readableBytes)
    }
}

package enum CheckedMemory {
    /// Whether the system has so many bytes at this moment. For memory that only Swift can allocate, such as the values of a
    /// JSON text: it is allocated after this check, and another thread may be faster.
    package static func isAvailable(_ bytes: Int) -> Bool { bytes <= smallest || clinux_has_memory(bytes) }

    /// - Throws: `no_memory`.
    package static func check(_ bytes: Int, for purpose: String) throws(NightjarError) {
        guard isAvailable(bytes) else { throw .noMemory(bytes, for: purpose) }
    }

    /// Bytes. Allocations up to this size are not checked: objects of such sizes exist everywhere.
    fileprivate static let smallest = 64 * 1024

    /// The functions of ``ByteBufferAllocator/init()``.
    fileprivate static let allocator = ByteBufferAllocator(
        allocate: { malloc($0) }, reallocate: { pointer, _, size in realloc(pointer, size) }, deallocate: { free($0) },
        copy: { memcpy($0, $1, $2) })
}

extension NightjarError {
    package static func noMemory(_ bytes: Int, for purpose: String) -> NightjarError {
        NightjarError(
            .noMemory,
            "cannot allocate \(bytes) bytes for \(purpose); stream it, or raise the memory limit of the process",
            code: ENOMEM)
    }
}
