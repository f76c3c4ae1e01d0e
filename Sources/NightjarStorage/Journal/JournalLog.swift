import Glibc
import NightjarHTTP

/// A log beside a journal: the files `PATH.log` and `PATH.log.1`, accessible only to their owner. Each has at most 1 MiB.
/// One process appends.
package struct JournalLog: Sendable {
    private let path: String

    package init(journal: String) { path = journal + ".log" }

    /// Appends a line. The oldest lines are discarded when the file is full. Nothing is thrown, because the log is not needed
    /// by any work: a line is lost if it cannot be written.
    package func append(_ line: String) {
        var status = stat()
        if lstat(path, &status) == 0, status.st_size >= JournalLog.largestFile { rename(path, path + ".1") }
        guard
            let descriptor = try? PrivateFile(path, "log").open(
                Array(path.utf8CString), O_WRONLY | O_CREAT | O_APPEND)
        else { return }
        defer { close(descriptor) }
        var text = line.filter { !$0.isNewline } + "\n"
        withoutFileSizeSignal { _ = text.withUTF8 { write(descriptor, $0.baseAddress, $0.count) } }
    }

    /// Returns the lines, oldest first. Empty if there is no log.
    ///
    /// - Throws: `storage` if the files cannot be read.
    package func lines() throws(NightjarError) -> [Substring] {
        var bytes: [UInt8] = []
        for path in [path + ".1", path] {
            // The last line may make the file a little larger.
            bytes += try PrivateFile(path, "log").read(atMost: 2 * JournalLog.largestFile) ?? []
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    private static let largestFile = 1 << 20
}
