import NightjarHTTP

/// Lines of the caller's own among those of the client.
extension Client {
    /// Puts a line into the client's log, where its level is asked for. The caller sees to it that there are no secrets in it.
    public func log(_ level: LogLevel, _ message: String) {
        guard level > .off, let sink = loop.log, sink.level >= level else { return }
        loop.submit(.run { [loop] in loop.note(level, message) })
    }

    /// Up to which level the log takes lines; `off`: there is none.
    public var logLevel: LogLevel { loop.log?.level ?? .off }
}
