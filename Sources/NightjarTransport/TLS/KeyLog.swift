import NightjarHTTP
import NightjarSystem

/// An event of a key log, for the client's log.
package enum KeyLogEvent: Sendable {
    /// The first keys were written.
    case started(file: String)
    /// Keys could not be written. Reported once for each client.
    case failed(file: String, reason: String)
}

/// The file to which one client appends the keys of its TLS connections. Used on the loop.
///
/// The loop writes each line with one system call. A handshake writes at most five lines, and only clients that are
/// being debugged have a key log. With worker threads, the last lines would be lost if the program ends at once. The
/// descriptor is non-blocking, so a FIFO without a reader does not block the loop.
final class KeyLog {
    private let file: String
    private let descriptor: CInt
    private var hasStarted = false
    private var hasFailed = false
    /// Whether the file ends with a part of a line.
    private var hasPartialLine = false
    /// Receives the events. Set before the first connection.
    var observer: ((KeyLogEvent) -> Void)?

    /// Opens the file. Creates it with access for its owner only.
    ///
    /// - Throws: `storage` if the file cannot be opened.
    init(_ file: String) throws(NightjarError) {
        let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        let descriptor = open(file, flags, 0o600)
        guard descriptor >= 0 else {
            let code = errno
            throw NightjarError(
                .storage, "opening the key log file \(quoted(file)) failed: \(String(cString: strerror(code)))",
                code: code)
        }
        self.file = file
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// Appends a line. A failure does not affect the connection.
    func write(_ line: UnsafeRawBufferPointer) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(line.count + 2)
        if hasPartialLine { bytes.append(UInt8(ascii: "\n")) }
        bytes += line
        bytes.append(UInt8(ascii: "\n"))
        var written: Int
        repeat { written = NightjarSystem.write(descriptor, bytes, bytes.count) } while written < 0 && errno == EINTR
        if written == bytes.count {
            hasPartialLine = false
            if !hasStarted { observer?(.started(file: file)) }
            hasStarted = true
        } else {
            let reason = written < 0 ? String(cString: strerror(errno)) : "only a part of a line was written"
            if written > 0 { hasPartialLine = true }
            if !hasFailed { observer?(.failed(file: file, reason: reason)) }
            hasFailed = true
        }
    }
}
