import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// The contents of background uploads that have no file of their own: files in the folder `JOURNAL.spool`, accessible only to
/// their owner.
///
/// A content is written to a temporary file. While it is moved to its path and its entry is added, and while a content is
/// removed, the process holds a lock: a byte of `JOURNAL.lock`.
package struct JournalSpool: Sendable {
    private let journal: String

    /// - Parameter path: The path of the journal. Different paths of one journal are equivalent.
    package init(journal path: String) { journal = path }

    /// Returns the path of a content. Different contents of one id have different paths.
    ///
    /// - Parameter digest: The digest of the content.
    /// - Throws: `storage` if the folder of the journal cannot be used.
    package func path(of digest: [UInt8], id: String) throws(NightjarError) -> String {
        let name = Hexadecimal.encode(Digest.sha256(Array(id.utf8) + [0] + digest))
        return "\(try folder())/\(name)"
    }

    /// Returns the path of the journal with all symbolic links resolved.
    private func place() throws(NightjarError) -> String {
        do throws(DatabaseError) { return try JournalPath.prepare(journal) } catch { throw JournalError(error).failure }
    }

    private func folder() throws(NightjarError) -> String { try place() + ".spool" }

    /// Returns the name of a content. Nil for a path that ``path(of:id:)`` does not return.
    private func name(of path: String) -> String? {
        let (parent, name) = PrivateFile.split(path)
        guard name.utf8.count == 64, name.utf8.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
            let folder = try? folder(), folder.isExactly(JournalSpool.resolved(parent))
        else { return nil }
        return name
    }

    private static func resolved(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    /// Whether a content exists. False for other paths.
    package func has(_ path: String) -> Bool { name(of: path) != nil && access(path, F_OK) == 0 }

    // MARK: Adding

    /// Writes a content durably to a temporary file.
    ///
    /// - Parameter produce: Writes the content in pieces.
    /// - Throws: `storage`, and the errors of `produce`.
    package func write(
        _ produce: (_ write: ([UInt8]) throws(NightjarError) -> Void) throws(NightjarError) -> Void
    ) throws(NightjarError) -> NewContent {
        let folder = try folder()
        mkdir(folder, 0o700)
        let path = "\(folder)/new-\(Hexadecimal.encode(SecureRandom.bytes(16)))"
        try PrivateFile(path, "spooled content").replace(produce)
        return NewContent(path: path)
    }

    /// A content in a temporary file, which is removed with this object.
    package final class NewContent {
        private let path: String

        fileprivate init(path: String) { self.path = path }

        deinit { unlink(path) }

        /// Moves the content to its path durably. A content that is already there is kept: it is equal, and a worker may read
        /// it. The caller holds the lock.
        package func move(to target: String) throws(NightjarError) {
            if access(target, F_OK) == 0 { return }
            let file = PrivateFile(target, "spooled content")
            guard rename(path, target) == 0 else {
                throw file.failure("cannot be written: \(String(cString: strerror(errno)))", code: errno)
            }
            try file.syncFolder(of: target)
        }
    }

    /// Runs `body` while this process holds the lock.
    ///
    /// - Throws: `storage` if another process holds the lock for 5 seconds.
    package func withLock<Result>(
        _ body: () throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        let lock = try FileLock.wait(
            try place() + ".lock", byte: JournalWorkerLock.spoolByte, lockTimeout: JournalSpool.lockTimeout)
        defer { lock.unlock() }
        return try body()
    }

    private static let lockTimeout = Duration.seconds(5)

    // MARK: Removing

    /// Removes a content. Ignores other paths. The caller holds the lock.
    package func remove(_ path: String) {
        if name(of: path) != nil { unlink(path) }
    }

    /// Removes a content, unless it is used. Ignores other paths. A content that cannot be removed now is removed by a later
    /// worker.
    ///
    /// - Parameter isUsed: Whether an entry uses the content. Called while this process holds the lock.
    package func remove(_ path: String, unless isUsed: () -> Bool) {
        guard has(path) else { return }
        try? withLock { () throws(NightjarError) in if !isUsed() { remove(path) } }
    }

    /// Removes the contents that no entry uses, for example of processes that were killed before they recorded the entry.
    ///
    /// - Parameter used: Returns the paths that entries use; nil: they are not known. Called while this process holds the lock.
    package func removeOthers(olderThan age: Duration, used: () -> [String]?) {
        guard let folder = try? folder(), access(folder, F_OK) == 0 else { return }
        try? withLock { () throws(NightjarError) in
            guard let used = used() else { return }
            JournalSpool.removeFiles(in: folder, olderThan: age, except: Set(used.compactMap { name(of: $0) }))
        }
    }

    private static func removeFiles(in folder: String, olderThan age: Duration, except names: Set<String>) {
        guard let directory = opendir(folder) else { return }
        defer { closedir(directory) }
        let oldest = time(nil) - Int(age.components.seconds)
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            let path = "\(folder)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_mtim.tv_sec < oldest,
                !names.contains(name)
            else { continue }
            unlink(path)
        }
    }
}
