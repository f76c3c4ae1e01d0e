import CPlatform
import NIOCore
import NightjarSystem

/// Writes runs of bytes to a file without the page cache (O_DIRECT). Only Linux has such writes.
///
/// They usually take less CPU time than other writes, and do not evict the pages of other files. The bytes are then not in
/// the page cache when the file is read.
///
/// The system writes only whole blocks directly, from addresses that are multiples of the block too. The bytes before the
/// first and after the last whole block of a run are written through the page cache. Bytes at other addresses are copied.
final class DirectWriter {
    private let descriptor: Int32
    private let minimum: Int
    /// Whether the file system has rejected a direct write.
    private var isRejected = false
    /// The memory for copies.
    private let copies: UnsafeMutableRawBufferPointer
    private var copied = 0
    /// The collected bytes, which are adjacent in the file. Each piece but the last ends at the end of a block.
    private var pieces: [iovec] = []
    /// The positions of the collected bytes in the file.
    private var range = 0..<0

    /// - Parameters:
    ///   - descriptor: A regular file. Other writers and readers of the descriptor must not run at the same time.
    ///   - minimum: Shorter runs are written through the page cache, because a direct write waits for the disk.
    /// - Returns: Nil if the file system has no direct writes, or if there is no memory for a buffer.
    init?(_ descriptor: Int32, minimum: Int = 128 << 10) {
        var memory: UnsafeMutableRawPointer?
        guard cplatform_set_direct(descriptor, true) == 0, cplatform_set_direct(descriptor, false) == 0,
            posix_memalign(&memory, DirectWriter.block, DirectWriter.bufferSize) == 0, let memory
        else { return nil }
        copies = UnsafeMutableRawBufferPointer(start: memory, count: DirectWriter.bufferSize)
        (self.descriptor, self.minimum) = (descriptor, minimum)
    }

    deinit { free(copies.baseAddress) }

    /// Whether a run of this length is written directly.
    func accepts(_ count: Int) -> Bool { !isRejected && count >= minimum }

    /// Writes buffers one after the other. Returns 0 or the number of the error.
    func write(_ buffers: [ByteBuffer], at offset: Int) -> Int32 {
        range = offset..<offset
        // The pieces refer to the memory of the buffers.
        return withExtendedLifetime(buffers) {
            defer { forgetPieces() }
            for buffer in buffers {
                let bytes = buffer.withUnsafeReadableBytesWithStorageManagement { bytes, _ in bytes }
                let code = collect(bytes)
                guard code == 0 else { return code }
            }
            return flush()
        }
    }

    /// Adds bytes to the pieces. Writes the pieces if one write cannot have more.
    private func collect(_ bytes: UnsafeRawBufferPointer) -> Int32 {
        var rest = bytes
        while let address = rest.baseAddress, !rest.isEmpty {
            // Whether the whole blocks of the file that are among the bytes need no copy.
            let isAligned = (Int(bitPattern: address) - range.upperBound) % DirectWriter.block == 0
            let toBlock = -range.upperBound & (DirectWriter.block - 1)
            let count: Int
            if isAligned, toBlock == 0, rest.count >= DirectWriter.block {
                count = rest.count / DirectWriter.block * DirectWriter.block
                add(UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
            } else {
                // A run that begins inside a block begins with a write of the bytes up to the next block.
                let room = range.lowerBound % DirectWriter.block == 0 ? copies.count - copied : toBlock
                count = min(rest.count, isAligned && toBlock > 0 ? toBlock : room)
                let copy = UnsafeMutableRawBufferPointer(rebasing: copies[copied..<copied + count])
                copy.copyMemory(from: UnsafeRawBufferPointer(rebasing: rest.prefix(count)))
                copied += count
                add(UnsafeRawBufferPointer(copy))
            }
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            let isFull = copied == copies.count || pieces.count == DirectWriter.largestCount
            guard range.upperBound % DirectWriter.block == 0, isFull || range.lowerBound % DirectWriter.block > 0 else {
                continue
            }
            let code = flush()
            guard code == 0 else { return code }
        }
        return 0
    }

    /// Adds a piece, or makes the last one longer.
    private func add(_ bytes: UnsafeRawBufferPointer) {
        range = range.lowerBound..<range.upperBound + bytes.count
        if let last = pieces.last, let end = last.iov_base?.advanced(by: last.iov_len),
            UnsafeRawPointer(end) == bytes.baseAddress
        {
            pieces[pieces.count - 1].iov_len += bytes.count
        } else {
            pieces.append(iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
        }
    }

    /// Writes the pieces.
    private func flush() -> Int32 {
        let start = range.lowerBound
        let excess = range.upperBound % DirectWriter.block
        var written = 0
        if start % DirectWriter.block == 0, range.count > excess, !isRejected {
            pieces[pieces.count - 1].iov_len -= excess
            let code = writeDirectly(&written)
            pieces[pieces.count - 1].iov_len += excess
            guard code == 0 else { return code }
        }
        var position = start
        for piece in pieces {
            let bytes = UnsafeRawBufferPointer(start: piece.iov_base, count: piece.iov_len)
            let rest = bytes.dropFirst(max(0, start + written - position))
            let code = writeAll(
                descriptor, UnsafeRawBufferPointer(rebasing: rest), at: position + bytes.count - rest.count)
            guard code == 0 else { return code }
            position += bytes.count
        }
        forgetPieces()
        return 0
    }

    /// Writes the pieces, which are whole blocks, without the page cache. Returns 0 or the number of the error.
    ///
    /// - Parameter written: The number of written bytes. Can be too low without an error.
    private func writeDirectly(_ written: inout Int) -> Int32 {
        guard cplatform_set_direct(descriptor, true) == 0 else { return 0 }
        let result = pwritev(descriptor, pieces, Int32(pieces.count), off_t(range.lowerBound))
        let code = result < 0 ? errno : 0
        _ = cplatform_set_direct(descriptor, false)
        switch code {
        case 0: written = result
        case EINTR: break
        case EINVAL: isRejected = true
        default: return code
        }
        return 0
    }

    private func forgetPieces() {
        pieces.removeAll(keepingCapacity: true)
        copied = 0
        range = range.upperBound..<range.upperBound
    }

    /// The unit of direct writes in bytes.
    static let block = Int(CPLATFORM_DIRECT_BLOCK)
    private static let bufferSize = 512 << 10
    /// The pieces of one write. POSIX systems allow at least 16.
    private static let largestCount = 16
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
