import NightjarHTTP
import NightjarSystem

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
        let text = Array(line.utf8).filter { $0 != JournalLog.newline } + [JournalLog.newline]
        withoutFileSizeSignal { _ = write(descriptor, text, text.count) }
    }

    /// Returns the lines, oldest first. Empty if there is no log.
    ///
    /// - Throws: `storage` if the files cannot be read.
    package func lines() throws(NightjarError) -> [String] {
        var bytes: [UInt8] = []
        for path in [path + ".1", path] {
            // The last line may make the file a little larger.
            bytes += try PrivateFile(path, "log").read(atMost: 2 * JournalLog.largestFile) ?? []
        }
        return bytes.split(separator: JournalLog.newline).map { String(decoding: $0, as: UTF8.self) }
    }

    private static let newline = UInt8(ascii: "\n")
    private static let largestFile = 1 << 20
}
