import NIOCore
import NightjarHTTP

/// Brings the request's body of one call, where it does not lie ready, to the exchange of each attempt: part by part, as the
/// connection asks for them. On the client's loop.
///
///     resting ──wants──▶ caller, worker ──part──▶ resting
///                └─ again from the start ─▶ rewinding ──rewound──▶ caller
///
/// A part that was made or given for an attempt that is over goes nowhere.
final class BodyFeed: @unchecked Sendable {
    /// Whose turn it is. `rewinding`: the caller is told to begin anew; what it gave for an attempt that is over may still
    /// be on its way here.
    private enum Turn { case nobody, rewinding, caller, worker }

    private unowned let call: Call
    private var turn = Turn.nobody
    /// Bytes that the connection has asked for.
    private var wanted = 0
    /// The body of this attempt, where it is read from files or compressed on its way.
    private var upload: Upload?
    /// The caller has given part of it, which has to begin anew when it is sent again.
    private var isTaken = false
    /// Of the present attempt nothing was asked for yet.
    private var isAtStart = true

    init(_ call: Call) { self.call = call }

    /// Whether a part is waited for, which is not the peer's to bring.
    var isAwaited: Bool { turn != .nobody }

    /// Whether a caller who gives it part by part can give the same again.
    var canBeginAnew: Bool { !isTaken || call.task.handlers.rewindBody != nil }

    func attemptStarted() {
        turn = .nobody
        upload = call.request.body.isPulled ? Upload(call.request) : nil
        isAtStart = true
    }

    func attemptEnded() {
        turn = .nobody
        upload = nil
    }

    // MARK: From the connection

    func wants(_ maximum: Int) {
        wanted = maximum
        ask()
    }

    private func ask() {
        if let upload, upload.hasEnded { return forward(.end) }
        guard let upload, upload.readsFiles else {
            let isAnew = isAtStart && isTaken
            (isAtStart, isTaken) = (false, true)
            guard isAnew else { return askCaller() }
            turn = .rewinding
            return call.loop.post(.rewindBody(call.task), to: call.task.queue)
        }
        let maximum = wanted
        work(upload) { () throws(NightjarError) in try upload.next(maximum: maximum).map(BodyPart.bytes) ?? .end }
    }

    private func askCaller() {
        turn = .caller
        call.loop.post(.provideBody(call.task, maximum: wanted), to: call.task.queue)
    }

    // MARK: From the caller

    /// It begins anew: what comes from here on is for this attempt.
    func rewound() {
        if turn == .rewinding { askCaller() }
    }

    func send(_ part: BodyPart) {
        guard turn == .caller else { return }
        guard let upload else { return forward(part) }
        switch part {
        case .bytes(let bytes):
            work(upload) { () throws(NightjarError) in .bytes(try upload.encode(bytes)) }
        case .end:
            work(upload) { () throws(NightjarError) in try upload.finish().map(BodyPart.bytes) ?? .end }
        case .later, .failed: forward(part)
        }
    }

    // MARK: To the connection

    /// Makes a part on a worker's thread.
    private func work(_ upload: Upload, _ body: @escaping @Sendable () throws(NightjarError) -> BodyPart) {
        turn = .worker
        call.loop.workers.run("reading the request's body", body) { [weak self] result in
            // The attempt it was made for may be over.
            guard let self, self.upload === upload, turn == .worker else { return }
            switch result {
            case .success(.bytes(let bytes)) where bytes.readableBytes == 0: ask()
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
