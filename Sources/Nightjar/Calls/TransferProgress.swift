import NIOCore
import NightjarHTTP

extension TaskHandlers {
    /// The progress of the bodies of a call's current attempt, for ``TaskHandlers/progress``.
    public struct Progress: Sendable, Equatable {
        /// Request body bytes sent. While data is in flight, the number may be slightly too low: unsent bytes of the
        /// head and the framing are subtracted, too.
        public var sent = 0
        /// The length of the request body; nil if the length is not known in advance. In the last event, the number of
        /// bytes sent.
        public var sentTotal: Int?
        /// Response body bytes received, before decoding.
        public var received = 0
        /// The response's Content-Length; nil if it is absent, the response has not started or the method is HEAD. In
        /// the last event, the number of bytes received.
        public var receivedTotal: Int?

        public init() {}
    }
}

/// Reports the progress of one call to its caller, on the client's loop.
///
/// The watch polls the call and its connection, so that the data path posts no progress events.
final class ProgressWatch: @unchecked Sendable {
    private unowned let call: Call
    private var reported = TaskHandlers.Progress()
    /// The attempt that ``sentBytes`` belongs to.
    private var attempt = 0
    /// The body bytes that the connection has accepted.
    private var sentBytes = 0

    init(_ call: Call) {
        self.call = call
        lookLater()
    }

    private func lookLater() {
        call.loop.after(ProgressWatch.interval) { [weak self] in
            guard let self else { return }
            look()
            lookLater()
        }
    }

    /// The call on whose connection the data moves.
    private var progressSource: Call { call.sharedExchange ?? call }

    private func look() {
        let progress = progressSource.progress
        note(sent: progress.sent)
        guard progress != reported, call.task.progressIsDue() else { return }
        reported = progress
        call.loop.post(.progress(call.task, progress), to: call.task.queue)
    }

    /// Posts the last progress event when the response is complete, if the progress has changed.
    func finish() {
        var progress = progressSource.progress
        note(sent: progress.sent)
        progress.sent = progress.sentTotal ?? sentBytes
        progress.sentTotal = progress.sent
        progress.receivedTotal = progress.received
        guard progress != reported else { return }
        call.loop.post(.progress(call.task, progress), to: call.task.queue)
    }

    /// Records the bytes that the connection of the current attempt has accepted.
    func note(sent count: Int) {
        if attempt != progressSource.attempts { (attempt, sentBytes) = (progressSource.attempts, 0) }
        sentBytes = max(sentBytes, count)
    }

    /// The interval between two reports.
    private static let interval = Duration.milliseconds(100)
}
