import CPlatform
import NIOCore
import NightjarSystem

/// Writes runs of bytes to a file without the page cache (O_DIRECT). Only Linux has such writes.
///
/// They usually take less CPU time than other writes, and do not evict the pages of other files. The bytes are then not in
/// the page cache when the file is read.
///
/// The system writes only whole blocks directly. The bytes before the first and after the last whole block of a run are
/// written through the page cache.
final class DirectWriter {
    private let descriptor: Int32
    private let collected: UnsafeMutableRawBufferPointer
    private let minimum: Int
    /// Whether the file system has rejected a direct write.
    private var isRejected = false

    /// - Parameters:
    ///   - descriptor: A regular file. Other writers and readers of the descriptor must not run at the same time.
    ///   - minimum: Shorter runs are written through the page cache, because a direct write waits for the disk.
    /// - Returns: Nil if the file system has no direct writes, or if there is no memory for a buffer.
    init?(_ descriptor: Int32, minimum: Int = 128 << 10) {
        var memory: UnsafeMutableRawPointer?
        guard cplatform_set_direct(descriptor, true) == 0, cplatform_set_direct(descriptor, false) == 0,
            posix_memalign(&memory, DirectWriter.block, DirectWriter.bufferSize) == 0, let memory
        else { return nil }
        collected = UnsafeMutableRawBufferPointer(start: memory, count: DirectWriter.bufferSize)
        (self.descriptor, self.minimum) = (descriptor, minimum)
    }

    deinit { free(collected.baseAddress) }

    /// Whether a run of this length is written directly.
    func accepts(_ count: Int) -> Bool { !isRejected && count >= minimum }

    /// Writes buffers one after the other. Returns 0 or the number of the error.
    func write(_ buffers: [ByteBuffer], at offset: Int) -> Int32 {
        var position = offset
        var filled = 0
        for buffer in buffers {
            let code = buffer.withUnsafeReadableBytes { bytes -> Int32 in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = min(rest.count, capacity(at: position) - filled)
                    collected[filled...].copyBytes(from: rest.prefix(count))
                    rest = rest.dropFirst(count)
                    filled += count
                    guard filled == capacity(at: position) else { continue }
                    let code = flush(filled, at: position)
                    guard code == 0 else { return code }
                    position += filled
                    filled = 0
                }
                return 0
            }
            guard code == 0 else { return code }
        }
        return flush(filled, at: position)
    }

    /// The bytes to collect at this position of the file: up to the next block if the position is inside of one.
    private func capacity(at position: Int) -> Int {
        let inBlock = position % DirectWriter.block
        return inBlock == 0 ? collected.count : DirectWriter.block - inBlock
    }

    /// Writes collected bytes.
    private func flush(_ count: Int, at position: Int) -> Int32 {
        let direct = position % DirectWriter.block == 0 ? count / DirectWriter.block * DirectWriter.block : 0
        var written = 0
        if direct > 0, !isRejected, cplatform_set_direct(descriptor, true) == 0 {
            let result = pwrite(descriptor, collected.baseAddress, direct, off_t(position))
            let code = result < 0 ? errno : 0
            _ = cplatform_set_direct(descriptor, false)
            switch code {
            case 0, EINTR: written = max(result, 0)
            case EINVAL: isRejected = true
            default: return code
            }
        }
        let rest = UnsafeRawBufferPointer(rebasing: collected[written..<count])
        return writeAll(descriptor, rest, at: position + written)
    }

    /// The unit of direct writes in bytes: at least the block of any disk.
    static let block = 4096
    private static let bufferSize = 512 << 10
}

/// Writes all bytes through the page cache. Returns 0 or the number of the error.
func writeAll(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    var rest = bytes
    while !rest.isEmpty {
        let count = pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + bytes.count - rest.count))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return count == 0 ? EIO : errno }
        rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
    return 0
}
