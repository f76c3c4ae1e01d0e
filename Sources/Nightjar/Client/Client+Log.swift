import NightjarHTTP

/// Log lines of the program.
extension Client {
    /// Writes a line to the client's log if the log has this level. The caller must not pass secrets.
    public func log(_ level: LogSink.Level, _ message: String) {
        guard level > .off, let sink = loop.log, sink.level >= level else { return }
        loop.submit(.run { [loop] in loop.note(level, message) })
    }

    /// The log level of the client; `off` if it has no log.
    public var logLevel: LogSink.Level { loop.log?.level ?? .off }
}
