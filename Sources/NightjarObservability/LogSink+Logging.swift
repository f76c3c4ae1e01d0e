#if LoggingSupport
import Logging
import Nightjar

extension LogSink {
    /// Writes the client's lines to a logger of swift-log.
    ///
    /// The level of the logger is read once. `trace` and `debug` become ``LogSink/Level/debug``, `info` and `notice` become
    /// ``LogSink/Level/info``, and `error` and `critical` become ``LogSink/Level/error``. Secrets are masked. The source of
    /// the lines is `Nightjar`.
    ///
    /// - Parameters:
    ///   - logger: Its handler runs on the client's loop thread if `queue` is nil, and must not block then.
    ///   - queue: Runs the handler inside `CompletionQueue.poll`.
    public init(_ logger: Logger, queue: CompletionQueue? = nil) {
        self.init(level: Level(logger.logLevel), queue: queue) { line in
            logger.log(level: Logger.Level(line.level), "\(line.message)", source: "Nightjar")
        }
    }
}

extension LogSink.Level {
    fileprivate init(_ level: Logger.Level) {
        self =
            switch level {
            case .trace, .debug: .debug
            case .info, .notice: .info
            case .warning: .warning
            case .error, .critical: .error
            }
    }
}

extension Logger.Level {
    fileprivate init(_ level: LogSink.Level) {
        self =
            switch level {
            case .off, .error: .error
            case .warning: .warning
            case .info: .info
            case .debug: .debug
            }
    }
}
#endif
