import Glibc
import NightjarCrypto
import NightjarHTTP

/// The contents of background uploads that have no file of their own: files in the folder `PATH.spool` beside the journal,
/// accessible only to their owner.
package struct JournalSpool: Sendable {
    private let journal: String
    private var folder: String { journal + ".spool" }

    /// - Parameter path: The absolute path of the journal.
    package init(journal path: String) { journal = path }

    /// Returns the path of a content. Different contents of one id have different paths.
    ///
    /// - Parameter digest: The digest of the content.
    package func path(of digest: [UInt8], id: String) -> String {
        "\(folder)/\(Hexadecimal.encode(Digest.sha256(Array(id.utf8) + [0] + digest)))"
    }

    /// Whether a path is one that ``path(of:id:)`` returns.
    private func has(_ path: String) -> Bool {
        let start = Array("\(folder)/".utf8)
        guard path.utf8.starts(with: start) else { return false }
        let name = path.utf8.dropFirst(start.count)
        return name.count == 64 && name.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
    }

    /// Writes a content durably, unless it was written before.
    ///
    /// - Parameters:
    ///   - path: A path that ``path(of:id:)`` has returned.
    ///   - produce: Writes the content in pieces.
    /// - Throws: `storage`, and the errors of `produce`.
    package func write(
        to path: String,
        _ produce: (_ write: ([UInt8]) throws(NightjarError) -> Void) throws(NightjarError) -> Void
    ) throws(NightjarError) {
        // The folder of the journal may not exist yet.
        do throws(DatabaseError) { _ = try JournalPath.prepare(journal) } catch { throw JournalError(error).failure }
        mkdir(folder, 0o700)
        guard access(path, F_OK) != 0 else { return }
        try PrivateFile(path, "spooled content").replace(produce)
    }

    /// Removes a content. Ignores other paths.
    package func remove(_ path: String) {
        if has(path) { unlink(path) }
    }

    /// Removes the contents that no entry uses, for example of processes that were killed before they recorded the entry.
    ///
    /// - Parameter isUsed: Whether an entry has this path.
    package func removeOthers(olderThan age: Duration, isUsed: (String) -> Bool) {
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
                !isUsed(path)
            else { continue }
            unlink(path)
        }
    }
}
