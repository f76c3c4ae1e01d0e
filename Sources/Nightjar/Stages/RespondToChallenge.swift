import NightjarCrypto
import NightjarHTTP

/// Responds to Digest challenges of the client's origin (RFC 7616), as computed by `DigestAuthentication`. Later
/// requests use the known nonce without a challenge, so usually only the first call is sent twice.
final class RespondToChallenge: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming, .responded, .failed] }
    private let states = CallStateKey<Progress>()
    private let origin: Origin
    private let login: Int
    private var machine: DigestAuthentication

    /// - Parameter login: The number of the login.
    init(_ origin: Origin, login: Int, user: String, password: String) {
        self.origin = origin
        self.login = login
        machine = DigestAuthentication(
            user: user, password: password,
            hashes: [.sha512_256: Digest.sha512_256, .sha256: Digest.sha256, .md5: Digest.md5])
    }

    /// The challenges of one call.
    private final class Progress: CallState {
        var repetitions = DigestAuthentication.Repetitions()
        /// The challenges of the response in progress.
        var challenges: [Challenge]?
        /// Whether the next attempt responds to a challenge.
        var isRequested = false
        var isSigned = false
    }

    override func outgoing(_ call: Call) -> Verdict {
        guard call.options.login == login, call.request.origin == origin, call.sendsLogin else {
            return .proceed
        }
        let progress = call.states[states] ?? Progress()
        call.states[states] = progress
        let (request, random) = (call.request, SecureRandom.bytes(DigestAuthentication.randomByteCount))
        let field =
            progress.isRequested
            ? machine.authorization(request.method, request.url, body: request.body, random: random)
            : machine.preemptive(request.method, request.url, body: request.body, random: random)
        progress.isRequested = false
        guard field != nil || progress.isSigned else { return .proceed }
        progress.isSigned = field != nil
        return call.setAuthorization(field)
    }

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        guard call.options.login == login, let progress = call.states[states] else { return .proceed }
        // Discards the challenges of an earlier attempt that failed.
        progress.challenges = nil
        guard call.request.origin == origin, call.sendsLogin else { return .proceed }
        guard head.status == 401 else {
            // The Authentication-Info field of a cached response belongs to another request.
            guard progress.isSigned, !call.isReplaying, let credentials = call.request.fields["Authorization"],
                !machine.accepted(head.headers["Authentication-Info"], to: credentials, from: origin)
            else { return .proceed }
            return .fail(DigestAuthentication.unproven)
        }
        progress.challenges = Challenge.parse(head.headers.values("WWW-Authenticate"))
        call.collectsBody = true
        return .proceed
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        switch refused(call) {
        case nil: .proceed
        case .proceed: .respond(call.settle(response))
        case .some(let verdict): verdict
        }
    }

    /// Handles a 401 response whose body failed. The body is not needed to repeat the call.
    override func failed(_ error: NightjarError, _ call: Call) -> Verdict { refused(call) ?? .proceed }

    private func refused(_ call: Call) -> Verdict? {
        guard call.options.login == login, let progress = call.states[states],
            let challenges = progress.challenges.take()
        else { return nil }
        let verdict = machine.challenged(
            challenges, for: call.request.url, body: call.request.body, &progress.repetitions)
        let because: String
        switch verdict {
        case .respond where call.bodyIsReplayable:
            call.wasRejectedByLimit = true
            progress.isRequested = true
            call.decide(.challenged)
            return .again(after: .zero)
        case .respond: because = RetryPolicy.Reason.bodyWasConsumed.description
        case .stop(let reason): because = reason.error.message
        }
        call.decide(.notRetried(cause: "the server requires authentication (401)", because: because))
        return .proceed
    }
}
