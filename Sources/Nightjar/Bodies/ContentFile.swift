import CPlatform
import NIOCore
import NightjarHTTP
import NightjarSystem

/// A file whose content is sent. The file is open while this object exists. Methods block, but never wait for a pipe or
/// a terminal.
final class ContentFile: @unchecked Sendable {
    let path: String
    /// The file's length in bytes when it was opened.
    let length: Int
    private let descriptor: Int32

    /// - Throws: `invalid_request` with the file's path if the file cannot be opened or is not a regular file.
    init(_ path: String) throws(NightjarError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw NightjarError(
                .invalidRequest,
                "the path \(quoted(path)) of a file to send is empty or contains "
                    + "a NUL")
        }
        // Without O_NONBLOCK, opening a FIFO without a writer would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw ContentFile.failure("be opened", path, errno) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            let code = errno
            close(descriptor)
            throw ContentFile.failure("be read", path, code)
        }
        if let kind = ContentFile.otherKind(status.st_mode) {
            close(descriptor)
            throw NightjarError(.invalidRequest, "\(quoted(path)) cannot be sent: it is \(kind)")
        }
        self.path = path
        self.descriptor = descriptor
        length = Int(status.st_size)
    }

    deinit { close(descriptor) }

    /// Reads the bytes of `range`. Returns fewer bytes, possibly none, if the file ends first.
    func read(_ range: Range<Int>) throws(NightjarError) -> ByteBuffer {
        var buffer = ByteBufferAllocator().buffer(capacity: range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            var code: Int32 = 0
            let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.upperBound - position) { space in
                let count = pread(
                    descriptor, space.baseAddress, min(space.count, range.upperBound - position), off_t(position))
                code = count < 0 ? errno : 0
                return max(count, 0)
            }
            if code == EINTR { continue }
            guard code == 0 else { throw ContentFile.failure("be read", path, code) }
            if count == 0 { break }
            position += count
        }
        return buffer
    }

    /// Reads the bytes of `range` without waiting for the disk. Nil if not all of them are in memory, or if the file system
    /// has no such reads (preadv2 of Linux with RWF_NOWAIT).
    func readCached(_ range: Range<Int>) -> ByteBuffer? {
        var buffer = ByteBufferAllocator().buffer(capacity: range.count)
        let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: range.count) { space in
            let count = min(space.count, range.count)
            return max(cplatform_read_cached(descriptor, space.baseAddress, count, off_t(range.lowerBound)), 0)
        }
        return count == range.count ? buffer : nil
    }

    /// Returns the present properties by which the file is recognized.
    func identity() throws(NightjarError) -> FileIdentity {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw ContentFile.failure("be read", path, errno) }
        return FileIdentity(
            size: Int(status.st_size),
            modified: Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec),
            inode: UInt64(status.st_ino), device: UInt64(truncatingIfNeeded: status.st_dev))
    }

    /// Returns ``length``. Files of virtual file systems such as /proc have content but report a length of 0.
    ///
    /// - Throws: `invalid_request` if the file has content but reports a length of 0.
    func knownLength() throws(NightjarError) -> Int {
        guard length == 0, try read(0..<1).readableBytes > 0 else { return length }
        throw NightjarError(
            .invalidRequest,
            "\(quoted(path)) cannot be sent: the file system does not report its length; send it "
                + "as a stream")
    }

    private static func failure(_ verb: String, _ path: String, _ code: Int32) -> NightjarError {
        NightjarError(
            .invalidRequest, "the file \(quoted(path)) to send cannot \(verb): \(String(cString: strerror(code)))",
            code: code)
    }

    /// Returns a description of a file that is not a regular file, with advice. Nil for a regular file.
    private static func otherKind(_ mode: mode_t) -> StaticString? {
        switch mode & S_IFMT {
        case S_IFREG: nil
        case S_IFDIR: "a directory; send its files one by one"
        case S_IFIFO: "a pipe, which has no length; send its content as a stream"
        case S_IFSOCK: "a socket"
        default: "a device, which has no length; send its content as a stream"
        }
    }
}
