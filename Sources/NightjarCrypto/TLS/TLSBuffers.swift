internal import CNIOBoringSSL
import NightjarSystem

/// The memory that BoringSSL reads from and writes to instead of a socket.
struct TLSBuffers {
    /// The received bytes that BoringSSL has not read. Valid only during a call of ``TLSConnection``.
    var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var output: UnsafeMutableRawPointer?
    private var capacity = 0
    private(set) var outputCount = 0
    private(set) var isOutOfMemory = false

    /// The encrypted bytes to send.
    var pendingOutput: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: output, count: outputCount) }

    mutating func removeOutput() {
        outputCount = 0
        // A large buffer is usually needed only for uploads. Idle connections must not retain it.
        guard capacity > TLSBuffers.retainedCapacity else { return }
        deallocate()
    }

    mutating func deallocate() {
        free(output)
        output = nil
        capacity = 0
        outputCount = 0
    }

    private mutating func read(_ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
        let taken = min(count, input.count)
        guard taken > 0, let start = input.baseAddress else { return 0 }
        bytes.copyMemory(from: start, byteCount: taken)
        input = UnsafeRawBufferPointer(rebasing: input[taken...])
        return taken
    }

    private mutating func write(_ bytes: UnsafeRawPointer, _ count: Int) -> Bool {
        let (needed, overflow) = outputCount.addingReportingOverflow(count)
        if overflow || needed > capacity, !grow(to: overflow ? .max : needed) { return false }
        guard let output else { return false }
        output.advanced(by: outputCount).copyMemory(from: bytes, byteCount: count)
        outputCount += count
        return true
    }

    private mutating func grow(to needed: Int) -> Bool {
        let (doubled, overflow) = capacity.multipliedReportingOverflow(by: 2)
        let size = max(needed, overflow ? needed : doubled, TLSBuffers.initialCapacity)
        guard let larger = realloc(output, size) else {
            isOutOfMemory = true
            return false
        }
        output = larger
        capacity = size
        return true
    }

    private static let initialCapacity = 512
    private static let retainedCapacity = 4096

    /// Creates the BIO object that connects BoringSSL with `buffers`. Returns nil if memory is exhausted.
    static func bio(for buffers: UnsafeMutablePointer<TLSBuffers>) -> OpaquePointer? {
        guard let method, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, buffers)
        BIO_set_init(bio, 1)
        return bio
    }

    /// Nil if memory was exhausted at the first use.
    nonisolated(unsafe) private static let method: OpaquePointer? = {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "memory") else { return nil }
        BIO_meth_set_read(method) { bio, bytes, count in
            guard let bytes, let buffers = TLSBuffers.of(bio) else { return -1 }
            BIO_clear_retry_flags(bio)
            let taken = buffers.pointee.read(bytes, Int(count))
            if taken > 0 { return CInt(taken) }
            BIO_set_retry_read(bio)
            return -1
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let bytes, let buffers = TLSBuffers.of(bio) else { return -1 }
            return buffers.pointee.write(bytes, Int(count)) ? count : -1
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
        return method
    }()

    private static func of(_ bio: OpaquePointer?) -> UnsafeMutablePointer<TLSBuffers>? {
        BIO_get_data(bio)?.assumingMemoryBound(to: TLSBuffers.self)
    }
}
