import NightjarHTTP

/// The log lines of a client.
extension ClientLoop {
    /// Writes a log line.
    func note(_ level: LogSink.Level, _ message: String) {
        guard let log, log.level >= level else { return }
        let line = LogSink.Line(level: level, message: message)
        if log.admits(line) { post(.run { log.deliver(line) }, to: log.queue) }
    }

    /// Writes a log line while or after the client is closed. Called on the closing thread or on the thread of the disk
    /// cache.
    func noteAtEnd(_ level: LogSink.Level, _ message: String) {
        guard let log, log.level >= level else { return }
        let line = LogSink.Line(level: level, message: message)
        guard log.admits(line) else { return }
        guard let queue = log.queue else { return log.deliver(line) }
        var events: [QueueEvent] = [.run { log.deliver(line) }]
        queue.post(&events)
    }
}
