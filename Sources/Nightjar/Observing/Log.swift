/// How much is told, from least to most.
public enum LogLevel: Int32, Sendable, Comparable, CaseIterable {
    case off = 0
    case error = 1
    case warning = 2
    /// A line a call.
    case info = 3
    /// Also connections and decisions.
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

    public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// One line of the log, secrets removed.
public struct LogLine: Sendable {
    public let level: LogLevel
    public let message: String
}

/// Where log lines go: through a queue, so that the caller's code runs on the caller's thread, or straight from the
/// client's loop for Swift callers that only pass the line on.
public struct LogSink: Sendable {
    public var level: LogLevel
    public var queue: CompletionQueue?
    public var write: @Sendable (LogLine) -> Void

    /// - Parameter queue: runs `write` inside `CompletionQueue.poll`; nil: on the client's loop thread, where it must
    ///   not block.
    public init(level: LogLevel, queue: CompletionQueue? = nil, write: @escaping @Sendable (LogLine) -> Void) {
        self.level = level
        self.queue = queue
        self.write = write
    }
}
