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

/// What was told of a call's progress, and when it is looked at again. On the client's loop.
///
/// Nothing counts for it on the way of the bytes: it looks at what the call and its connection know.
final class ProgressWatch: @unchecked Sendable {
    private unowned let call: Call
    private var told = TransferProgress()
    /// Bytes that the last exchange had been given, as far as it said so.
    private var given = 0

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

    private func look() {
        let progress = (call.seat?.exchange ?? call).progress
        guard progress != told, call.task.progressIsDue() else { return }
        told = progress
        call.loop.post(.progress(call.task, progress), to: call.task.queue)
    }

    /// All of it is there.
    func finish(_ response: Response) {
        var progress = (call.seat?.exchange ?? call).progress
        progress.sent = progress.sentTotal ?? max(progress.sent, given, told.sent)
        progress.sentTotal = progress.sent
        // An exchange that calls have shared is gone by now.
        if progress.received == 0 { progress.received = told.receivedTotal ?? told.received }
        progress.receivedTotal = progress.received
        guard progress != told else { return }
        call.loop.post(.progress(call.task, progress), to: call.task.queue)
    }

    func note(given count: Int) { given = max(given, count) }

    /// Between two looks: what people see moves, and a call that is over sooner costs nothing.
    private static let interval = Duration.milliseconds(100)
}
