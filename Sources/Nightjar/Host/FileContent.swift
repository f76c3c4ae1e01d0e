import CPlatform
import NightjarHTTP
import NightjarStorage
import NightjarSystem

/// Reads and writes small files as a whole. Blocks.
enum FileContent {
    /// Reads a whole file.
    ///
    /// - Parameter isNamedByUser: If true, pipes and devices are read, too, which may block this thread. If false, they
    ///   are rejected: a document may name a device that never ends, and some callers must not block.
    /// - Throws: `storage`, also for a file of more than `maximum` bytes; `no_memory`.
    static func read(
        _ path: String, atMost maximum: Int, isNamedByUser: Bool = true
    ) throws(NightjarError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (isNamedByUser ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else { throw failure("opening", path) }
        defer { close(descriptor) }
        var status = stat()
        guard isNamedByUser || fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG else {
            throw NightjarError(.storage, "reading the file \(quoted(path)) failed: it is not a regular file")
        }
        var content: [UInt8] = []
        while true {
            let (count, part) = readPart(descriptor)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("reading", path) }
            if count == 0 { return content }
            guard content.count + count <= maximum else {
                throw NightjarError(
                    .storage, "reading the file \(quoted(path)) failed: it is larger than \(maximum) bytes")
            }
            if content.count + count > content.capacity {
                try CheckedMemory.check(content.capacity * 2, for: "the file \(quoted(path))")
            }
            content += part
        }
    }

    private static func readPart(_ descriptor: CInt) -> (Int, [UInt8]) {
        var count = 0
        let part = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, initialized in
            count = NightjarSystem.read(descriptor, buffer.baseAddress, buffer.count)
            initialized = max(count, 0)
        }
        return (count, part)
    }

    /// Replaces the file atomically, so that the old content survives a crash or a full disk. Only the owner can read
    /// the file.
    ///
    /// - Throws: `storage`, also for a pipe or a device, which the file would replace.
    static func write(_ content: [UInt8], to path: String) throws(NightjarError) {
        var status = stat()
        guard stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG else {
            throw NightjarError(.storage, "replacing the file \(quoted(path)) failed: it is not a regular file")
        }
        let name = path + "." + String(UInt64.random(in: .min ... .max), radix: 36)
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("writing", path) }
        do throws(NightjarError) {
            defer { close(descriptor) }
            var done = 0
            while done < content.count {
                let count = content.withUnsafeBytes { bytes in
                    withoutFileSizeSignal {
                        NightjarSystem.write(descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done)
                    }
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw failure("writing", path) }
                done += count
            }
            errno = cplatform_sync(descriptor)
            guard errno == 0 else { throw failure("writing", path) }
            guard rename(name, path) == 0 else { throw failure("replacing", path) }
        } catch {
            unlink(name)
            throw error
        }
    }

    private static func failure(_ what: String, _ path: String) -> NightjarError {
        let code = errno
        return NightjarError(
            .storage, "\(what) the file \(quoted(path)) failed: \(String(cString: strerror(code)))", code: code)
    }
}
