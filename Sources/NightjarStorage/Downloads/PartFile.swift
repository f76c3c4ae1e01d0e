import CPlatform
import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// The part of a file that is being downloaded, and the state file beside it. Methods block; one thread at a time.
///
/// A lock excludes other downloads to the same part. The system releases it when the process ends. The part is renamed
/// when it is complete, so that the file never exists in part under its own name.
package final class PartFile: @unchecked Sendable {
    package let path: String
    private let descriptor: Int32
    private let process = getpid()
    private var isOpen = true
    private var directWriter: DirectWriter?

    /// Opens the part.
    ///
    /// - Parameters:
    ///   - path: An absolute path.
    ///   - mode: The permissions of the file, which also apply to an existing part. Nil: 0o666 without those in the umask
    ///     for a new part.
    ///   - creates: Whether a missing part is created.
    /// - Throws: `invalid_argument` for another path; `storage` if another download writes the part, if another user owns
    ///   it, and for errors of the system.
    package init(_ path: String, mode: UInt16?, creates: Bool = true) throws(NightjarError) {
        guard DownloadRecord.isPath(path) else {
            throw NightjarError(
                .invalidArgument, "the path of a part must be absolute and must not contain a NUL, got \(quoted(path))")
        }
        self.path = path
        descriptor = try PartFile.open(path, mode, creates ? O_CREAT : 0)
    }

    deinit { close() }

    /// Closes the part and releases the lock. Later calls of other methods are errors.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        // A forked child shares the lock with its parent: the child must not release it, and closing the descriptor of
        // the parent does not.
        if getpid() == process { flock(descriptor, LOCK_UN) }
        NightjarSystem.close(descriptor)
    }

    /// Another file may have the descriptor of a closed part.
    private func checkOpen() throws(NightjarError) {
        guard isOpen else { throw NightjarError(.storage, "using \(quoted(path)) failed: the part is closed") }
    }

    private static func open(_ path: String, _ mode: UInt16?, _ creation: Int32) throws(NightjarError) -> Int32 {
        for _ in 0..<attempts {
            let descriptor = NightjarSystem.open(
                path, O_RDWR | creation | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode_t(mode ?? 0o666) | 0o600)
            guard descriptor >= 0 else { throw FileFailure.error(errno, path, "opened") }
            do throws(NightjarError) {
                var status = stat()
                guard fstat(descriptor, &status) == 0 else { throw FileFailure.error(errno, path, "opened") }
                try check(status, path)
                guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                    guard errno == EWOULDBLOCK else { throw FileFailure.error(errno, path, "locked") }
                    throw NightjarError(
                        .storage, "another download writes \(quoted(path)); wait for it, or use another path",
                        code: EWOULDBLOCK)
                }
                // Another download may have renamed or removed the file before the lock was granted.
                var present = stat()
                if lstat(path, &present) == 0, present.st_ino == status.st_ino, present.st_dev == status.st_dev {
                    if let mode { try set(mode_t(mode) & 0o777 | 0o600, of: descriptor, path) }
                    return descriptor
                }
            } catch {
                NightjarSystem.close(descriptor)
                throw error
            }
            NightjarSystem.close(descriptor)
        }
        throw NightjarError(
            .storage, "opening \(quoted(path)) failed: other processes keep replacing it; use another path")
    }

    private static func set(_ mode: mode_t, of descriptor: Int32, _ path: String) throws(NightjarError) {
        guard fchmod(descriptor, mode) == 0 else {
            throw FileFailure.error(errno, doing: "setting the permissions of \(quoted(path))")
        }
    }

    /// Rejects files that other users may have prepared.
    private static func check(_ status: stat, _ path: String) throws(NightjarError) {
        guard status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1 else {
            throw NightjarError(.storage, "\(quoted(path)) is not a regular file with one name; remove it")
        }
        guard status.st_uid == geteuid() else {
            throw NightjarError(.storage, "\(quoted(path)) belongs to another user (uid \(status.st_uid)); remove it")
        }
    }

    // MARK: Content

    /// The length of the part in bytes.
    package func length() throws(NightjarError) -> Int {
        try checkOpen()
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure.error(errno, path, "read") }
        return Int(status.st_size)
    }

    package func write(_ bytes: ByteBuffer, at offset: Int) throws(NightjarError) {
        try write([bytes], at: offset) { _ in }
    }

    /// Writes buffers one after the other.
    ///
    /// - Parameter written: Called with numbers of buffers that have been written, also before an error.
    package func write(
        _ buffers: [ByteBuffer], at offset: Int, written: (Int) -> Void
    ) throws(NightjarError) {
        try checkOpen()
        let code = withoutFileSizeSignal { () -> Int32 in
            if let directWriter, directWriter.accepts(buffers.reduce(0) { $0 + $1.readableBytes }) {
                if directWriter.write(buffers, at: offset) == 0 {
                    written(buffers.count)
                    return 0
                }
                // The buffers are written again, so that the error has the number of those that could be written.
                self.directWriter = nil
            }
            var position = offset
            for buffer in buffers {
                let code = buffer.withUnsafeReadableBytes { writeAll(descriptor, $0, at: position) }
                guard code == 0 else { return code }
                written(1)
                position += buffer.readableBytes
            }
            return 0
        }
        guard code == 0 else { throw FileFailure.error(code, path, "written") }
    }

    /// Writes long runs of bytes without the page cache from now on, if the part is on a disk that allows it.
    package func writeDirectly() throws(NightjarError) {
        try checkOpen()
        guard directWriter == nil, let disk = Disk(of: descriptor), !disk.isRotating else { return }
        directWriter = DirectWriter(descriptor)
    }

    /// Discards the content and the state.
    package func reset() throws(NightjarError) {
        try checkOpen()
        unlink(path + PartFile.stateSuffix)
        guard ftruncate(descriptor, 0) == 0 else { throw FileFailure.error(errno, path, "truncated") }
    }

    /// Prepares the part to be continued with a record that ``record()`` has returned.
    ///
    /// Truncates a sequential part to the bytes of the record. After another boot, the bytes after them are not valid.
    package func keep(_ record: DownloadRecord) throws(NightjarError) {
        guard record.isSequential, try length() > record.received.end else { return }
        guard ftruncate(descriptor, off_t(record.received.end)) == 0 else {
            throw FileFailure.error(errno, path, "truncated")
        }
    }

    /// Writes the content to the disk.
    package func sync() throws(NightjarError) {
        try checkOpen()
        let code = cplatform_sync_content(descriptor)
        guard code == 0 else { throw FileFailure.error(code, path, "synced to disk") }
    }

    /// - Throws: `storage` with the code ENOSPC if the file system has less than `count` bytes left.
    package func checkSpace(for count: Int) throws(NightjarError) {
        try checkOpen()
        var system = statvfs()
        // A file system that does not report its free space reports errors of writes.
        guard fstatvfs(descriptor, &system) == 0, system.f_blocks > 0 else { return }
        let (free, overflow) = Int(clamping: system.f_bavail).multipliedReportingOverflow(
            by: Int(clamping: system.f_frsize))
        guard !overflow, free < count else { return }
        throw NightjarError(
            .storage,
            "the file system of \(quoted(path)) has \(free) bytes left, and the download needs \(count); free some disk space",
            code: ENOSPC)
    }

    /// Checks that the part can be renamed to a file in this folder.
    ///
    /// - Throws: `storage` with the code EXDEV if the folder is on another file system.
    package func checkFileSystem(of folder: String) throws(NightjarError) {
        try checkOpen()
        var (own, other) = (stat(), stat())
        guard fstat(descriptor, &own) == 0, stat(folder, &other) == 0, own.st_dev != other.st_dev else { return }
        throw NightjarError(
            .storage,
            "continuing the download failed: the part \(quoted(path)) and the folder \(quoted(folder)) are on different "
                + "file systems; use a path on the file system of the part", code: EXDEV)
    }

    /// Compares the content with a digest.
    ///
    /// - Parameter isCancelled: called before each piece of 1 MiB.
    /// - Throws: `checksum_mismatch`; `cancelled`.
    package func verify(_ checksum: Checksum, isCancelled: () -> Bool) throws(NightjarError) {
        try checkOpen()
        guard let hash = RunningHash(HashFunction(checksum.algorithm)) else { throw .noMemory(1024, for: "a digest") }
        let size = 1 << 20
        guard let buffer = malloc(size) else { throw .noMemory(size, for: "reading the file") }
        defer { free(buffer) }
        var position = 0
        while true {
            if isCancelled() { throw NightjarError(.cancelled, "the download was cancelled") }
            let count = pread(descriptor, buffer, size, off_t(position))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFailure.error(errno, path, "read") }
            if count == 0 { break }
            hash.update(UnsafeRawBufferPointer(start: buffer, count: count))
            position += count
        }
        let found = Checksum(checksum.algorithm, hash.finish())
        guard found == checksum else {
            throw NightjarError(
                .checksumMismatch,
                "checksum verification failed: expected \(checksum), got \(found); the part is discarded")
        }
    }

    // MARK: State

    /// Returns the record in the state file, with the bytes that the part really has. Nil if there is none, or if the
    /// part cannot be continued.
    package func record() -> DownloadRecord? {
        guard var record = PartFile.record(at: path), let length = try? length() else { return nil }
        // Other paths: the part was moved.
        record.part = path
        // Bytes of a response without its digest were received and synced, but are not valid.
        record.synced = record.synced.intersection(record.received).intersection(0..<length)
        guard record.boot.isExactly(Boot.id) else {
            record.received = record.synced
            record.isSequential = record.isSequential && record.received.prefixEnd == record.received.end
            return record
        }
        if record.isSequential {
            record.received = RangeSet(0..<length)
        } else if record.received.end > length {
            return nil
        }
        if let total = record.total, record.received.end > total { return nil }
        return record
    }

    /// Returns the record of a part that another object may be writing, with the bytes that the part has now.
    package static func record(beside path: String) -> DownloadRecord? {
        var status = stat()
        guard var record = record(at: path), lstat(path, &status) == 0 else { return nil }
        if record.isSequential { record.received = RangeSet(0..<Int(status.st_size)) }
        return record
    }

    private static func record(at path: String) -> DownloadRecord? {
        let descriptor = NightjarSystem.open(
            path + stateSuffix, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
        defer { NightjarSystem.close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, (try? check(status, path)) != nil, status.st_size <= largestState else {
            return nil
        }
        var text = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = text.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count > 0 else { return nil }
        return try? DownloadRecord(String(decoding: text.prefix(count), as: UTF8.self))
    }

    /// Replaces the state file. A process that is killed meanwhile leaves the old file or the new one.
    /// Has no effect after ``close()``.
    package func write(_ record: DownloadRecord) throws(NightjarError) {
        guard isOpen else { return }
        let state = path + PartFile.stateSuffix
        let temporary = state + PartFile.temporarySuffix
        unlink(temporary)
        let descriptor = NightjarSystem.open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileFailure.error(errno, temporary, "written") }
        var text = record.text
        var code = withoutFileSizeSignal {
            text.withUTF8 { writeAll(descriptor, UnsafeRawBufferPointer($0), at: 0) }
        }
        NightjarSystem.close(descriptor)
        if code == 0, NightjarSystem.rename(temporary, state) != 0 { code = errno }
        guard code == 0 else {
            unlink(temporary)
            throw FileFailure.error(code, state, "written")
        }
    }

    /// Removes the part and its state.
    package func discard() {
        guard isOpen, getpid() == process else { return }
        unlink(path + PartFile.stateSuffix)
        unlink(path)
        close()
    }

    // MARK: End

    /// How a complete part becomes the file.
    package struct Completion: Sendable {
        package var target: DownloadTarget
        /// The name, if the target has none.
        package var name: String
        package var overwrites: Bool
        package var mode: UInt16?
        /// The time of the last modification, in seconds since 1970. Nil: now.
        package var modified: Int64?

        package init(target: DownloadTarget, name: String, overwrites: Bool) {
            (self.target, self.name, self.overwrites) = (target, name, overwrites)
        }
    }

    /// Syncs the part, renames it to its final name, and removes its state.
    ///
    /// - Parameter total: The length that the part must have.
    /// - Returns: The path of the file.
    /// - Throws: `storage`. The part is then kept.
    ///
    /// If the folder cannot be synced, the file exists, but the system may stop before its name is on the disk. This is no
    /// failure of the download.
    package func complete(_ completion: Completion, total: Int) throws(NightjarError) -> String {
        let found = try length()
        guard found == total else {
            throw NightjarError(
                .storage, "\(quoted(path)) has \(found) bytes instead of \(total); another program has changed it")
        }
        if let mode = completion.mode { try PartFile.set(mode_t(mode), of: descriptor, path) }
        if let modified = completion.modified {
            let code = cplatform_set_modified(descriptor, Int(modified))
            guard code == 0 else {
                throw FileFailure.error(code, doing: "setting the modification time of \(quoted(path))")
            }
        }
        let code = cplatform_sync(descriptor)
        guard code == 0 else { throw FileFailure.error(code, path, "synced to disk") }
        let final = try rename(completion)
        close()
        unlink(path + PartFile.stateSuffix)
        try? PrivateFile(final, "file").syncFolder(of: final)
        return final
    }

    private func rename(_ completion: Completion) throws(NightjarError) -> String {
        let target = completion.target
        for number in 0..<PartFile.names {
            let final = target.path(of: PartFile.numbered(target.name ?? completion.name, number))
            if completion.overwrites {
                guard NightjarSystem.rename(path, final) == 0 else { throw FileFailure.error(errno, final, "replaced") }
                return final
            }
            let code = cplatform_rename_new(path, final)
            if code == 0 { return final }
            guard code == EEXIST else { throw FileFailure.error(code, final, "created") }
            guard target.name == nil else {
                throw NightjarError(
                    .storage, "\(quoted(final)) exists already; allow overwrite, or use another path", code: EEXIST)
            }
        }
        throw NightjarError(.storage, "\(quoted(target.folder)) has too many files named \(quoted(completion.name))")
    }

    /// Returns `name-1.txt` for `name.txt`.
    private static func numbered(_ name: String, _ number: Int) -> String {
        guard number > 0 else { return name }
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return "\(name)-\(number)" }
        return "\(name[..<dot])-\(number)\(name[dot...])"
    }

    /// The identifier of the boot of the system, for records.
    package static var boot: String { Boot.id }
    /// Writes that end at multiples of this number of bytes are the cheapest.
    package static let block = DirectWriter.block
    package static let suffix = FileName.partSuffix
    package static let stateSuffix = ".state"
    static let temporarySuffix = ".new"
    private static let attempts = 100
    private static let names = 1000
    private static let largestState = 1 << 20
}
