import NIOCore
import NightjarHTTP

/// Provides a request body that the caller streams or that is read from files. Delivers the body to each attempt's
/// exchange in parts, as the connection requests them. Used on the client's loop.
///
///     idle ──connection needs a part──▶ caller or worker ──part──▶ idle
///      └──second attempt──▶ rewinding ──rewound──▶ caller
///
/// A part that was produced for an earlier attempt is discarded.
final class BodyFeed: @unchecked Sendable {
    typealias BodyPart = TaskHandlers.BodyPart

    /// The producer of the next part. In `rewinding`, the caller must first rewind the body. Parts for the earlier
    /// attempt may still arrive.
    private enum Turn { case nobody, rewinding, caller, worker }

    private unowned let call: Call
    private var turn = Turn.nobody
    /// The maximum size of the next part in bytes, as the connection requested it.
    private var requestedBytes = 0
    /// The body of this attempt, if it is read from files or compressed.
    private var attemptBody: AttemptBody?
    private var deferral = BodyDeferral()
    /// Whether a part was requested from the caller. The next attempt must then rewind the body.
    private var isTaken = false
    /// Whether the connection has not yet requested a part of this attempt.
    private var isAtStart = true

    init(_ call: Call) { self.call = call }

    /// Whether the call waits for a body part. The idle timeout does not run during this wait.
    var isAwaited: Bool { turn != .nobody }

    /// Whether the body can be sent again from its start.
    var canRestart: Bool { !isTaken || call.task.handlers.rewindBody != nil }

    func attemptStarted() {
        turn = .nobody
        attemptBody = call.request.body.isStreamedFromCaller ? AttemptBody(call.request) : nil
        isAtStart = true
    }

    func attemptEnded() {
        turn = .nobody
        attemptBody = nil
    }

    // MARK: Events of the connection

    func requestPart(_ maximum: Int) {
        requestedBytes = maximum
        requestPart()
    }

    private func requestPart() {
        if let attemptBody, attemptBody.hasEnded { return forward(.end) }
        guard let attemptBody, attemptBody.readsFiles else {
            let isRestart = isAtStart && isTaken
            (isAtStart, isTaken) = (false, true)
            guard isRestart else { return requestPartFromCaller() }
            turn = .rewinding
            return call.loop.post(.rewindBody(call.task), to: call.task.queue)
        }
        let maximum = requestedBytes
        work(attemptBody) { () throws(NightjarError) in
            try attemptBody.next(maximum: maximum).map(BodyPart.bytes) ?? .end
        }
    }

    private func requestPartFromCaller() {
        turn = .caller
        deferral.called()
        call.loop.post(.provideBody(call.task, maximum: requestedBytes), to: call.task.queue)
    }

    // MARK: Events of the caller

    /// The caller's source has data. It may not yet have returned that it had none.
    func resumed() {
        if turn == .caller, deferral.resumed() { requestPartFromCaller() }
    }

    /// The caller's source has no data.
    private func deferred() {
        if deferral.deferred() { requestPartFromCaller() }
    }

    /// Called when the caller has rewound the body. The parts that follow belong to this attempt.
    func rewound() {
        if turn == .rewinding { requestPartFromCaller() }
    }

    func send(_ part: BodyPart) {
        guard turn == .caller else { return }
        if case .later = part { return deferred() }
        guard let attemptBody else { return forward(part) }
        switch part {
        case .bytes(let bytes):
            work(attemptBody) { () throws(NightjarError) in .bytes(try attemptBody.encode(bytes)) }
        case .end:
            work(attemptBody) { () throws(NightjarError) in try attemptBody.finish().map(BodyPart.bytes) ?? .end }
        case .later, .failed: forward(part)
        }
    }

    // MARK: Sending

    /// Produces a part on a worker thread.
    private func work(_ attemptBody: AttemptBody, _ body: @escaping @Sendable () throws(NightjarError) -> BodyPart) {
        turn = .worker
        call.loop.workers.run("reading the request's body", body) { [weak self] result in
            // The attempt that the part was produced for may have ended.
            guard let self, self.attemptBody === attemptBody, turn == .worker else { return }
            switch result {
            case .success(.bytes(let bytes)) where bytes.readableBytes == 0: requestPart()
            case .success(let part): forward(part)
            case .failure(let error): call.sendingFailed(error)
            }
        }
    }

    private func forward(_ part: BodyPart) {
        turn = .nobody
        call.forward(part)
    }
}
