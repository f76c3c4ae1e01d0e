import Synchronization

/// The receiver of a client's log lines.
///
/// At most 1,024 lines and 1 MiB of each sink wait in a queue that is not polled. The sink drops further lines, and
/// writes a warning with the number of dropped lines before the next line that it delivers.
public struct LogSink: Sendable {
    public var level: Level
    public let queue: CompletionQueue?
    private let write: @Sendable (Line) -> Void
    private let backlog = LogBacklog()

    /// - Parameter queue: Runs `write` inside `CompletionQueue.poll`. If nil, `write` runs on the client's loop thread
    ///   and must not block. The last line of a client may run `write` on another thread, for example the thread that
    ///   closes the client.
    public init(level: Level, queue: CompletionQueue? = nil, write: @escaping @Sendable (Line) -> Void) {
        self.level = level
        self.queue = queue
        self.write = write
    }

    /// Counts a line that is about to be posted to the queue.
    ///
    /// - Returns: False if the queue holds too many lines. The line is then dropped.
    func admits(_ line: Line) -> Bool { queue == nil || backlog.admit(line.message.utf8.count) }

    /// Writes a line that was admitted.
    func deliver(_ line: Line) {
        let dropped = queue == nil ? 0 : backlog.remove(line.message.utf8.count)
        if dropped > 0 {
            write(Line(level: .warning, message: "\(dropped) log lines were dropped: the queue was not polled"))
        }
        write(line)
    }
}

extension LogSink {
    /// The log levels. Each level includes the lines of the levels before it.
    public enum Level: Int32, Sendable, Comparable, CaseIterable {
        case off = 0
        case error = 1
        case warning = 2
        /// Also, for example, one line for each call and one line for each retry.
        case info = 3
        /// Also the start of each call, and rejected cookies.
        case debug = 4

        public var name: String {
            switch self {
            case .off: "off"
            case .error: "error"
            case .warning: "warning"
            case .info: "info"
            case .debug: "debug"
            }
        }

        public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
    }

    /// One log line, with secrets masked.
    public struct Line: Sendable {
        public let level: Level
        public let message: String
    }
}

/// The log lines of one sink that wait in its queue.
private final class LogBacklog: Sendable {
    private struct State {
        var lines = 0
        var bytes = 0
        var dropped = 0
    }

    private let state = Mutex(State())

    func admit(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard state.lines < LogBacklog.maximumLines, state.bytes + bytes <= LogBacklog.maximumBytes else {
                state.dropped += 1
                return false
            }
            state.lines += 1
            state.bytes += bytes
            return true
        }
    }

    /// Removes a delivered line of `bytes` bytes from the count.
    ///
    /// - Returns: The number of lines dropped since the previous call.
    func remove(_ bytes: Int) -> Int {
        state.withLock { state in
            state.lines -= 1
            state.bytes -= bytes
            return exchange(&state.dropped, with: 0)
        }
    }

    private static let maximumLines = 1024
    private static let maximumBytes = 1 << 20
}
