import NIOCore
import NightjarHTTP

/// How far the bodies of a call's present attempt have come: for ``TaskHandlers/progress``.
public struct TransferProgress: Sendable, Equatable {
    /// Bytes of the request's content that have left for the server. While they are on their way it may be a little less,
    /// for what the socket still holds is told with the head and the framing.
    public var sent = 0
    /// Nil: not known before all of it is sent.
    public var sentTotal: Int?
    /// Bytes of the answer's content, as it came: still coded.
    public var received = 0
    /// As the answer announces it; nil: it does not, or has not begun.
    public var receivedTotal: Int?

    public init() {}
}

/// Reports the progress of one call to its caller, on the client's loop.
///
/// Nothing is counted on the way of the bytes: the watch asks the call and its connection for what they know.
final class ProgressWatch: @unchecked Sendable {
    private unowned let call: Call
    private var reported = TransferProgress()
    /// The attempt that ``sentBytes`` is of.
    private var attempt = 0
    /// The content bytes that the connection has taken, as far as it was asked.
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

    /// The call on whose connection the bytes move.
    private var mover: Call { call.sharedExchange ?? call }

    private func look() {
        let progress = mover.progress
        note(sent: progress.sent)
        guard progress != reported, call.task.progressIsDue() else { return }
        reported = progress
        call.loop.post(.progress(call.task, progress), to: call.task.queue)
    }

    /// The whole response is there.
    func finish() {
        var progress = mover.progress
        note(sent: progress.sent)
        progress.sent = progress.sentTotal ?? sentBytes
        progress.sentTotal = progress.sent
        progress.receivedTotal = progress.received
        guard progress != reported else { return }
        call.loop.post(.progress(call.task, progress), to: call.task.queue)
    }

    /// Notes the bytes that the connection of the present attempt has taken.
    func note(sent count: Int) {
        if attempt != mover.attempts { (attempt, sentBytes) = (mover.attempts, 0) }
        sentBytes = max(sentBytes, count)
    }

    /// Between two looks: what people see moves, and a call that is over sooner costs nothing.
    private static let interval = Duration.milliseconds(100)
}
