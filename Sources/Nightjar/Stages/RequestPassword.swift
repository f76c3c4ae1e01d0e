import NightjarCrypto
import NightjarHTTP

/// Requests a user name and a password of the caller after a 401 response that no login of the client could prevent, and
/// repeats the request with Digest or Basic. Decides by `PasswordConversation`. Accepted passwords are sent with later
/// requests to the same origin.
///
/// A call with its own Authorization field, with authentication disabled, or after a redirect to another origin is not
/// changed.
final class RequestPassword: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming, .responded, .failed, .ended] }
    private let states = CallStateKey<Progress>()
    private let handler: Authentication.ChallengeHandler
    private var passwords = ProvidedPasswords(hashes: [
        .sha512_256: Digest.sha512_256, .sha256: Digest.sha256, .md5: Digest.md5,
    ])
    private var pending: [Subject: PasswordRequest] = [:]
    private var lastNumber = 0

    init(_ handler: Authentication.ChallengeHandler) { self.handler = handler }

    /// The challenges of one call.
    private final class Progress: CallState {
        var conversation = PasswordConversation()
        /// The challenges of the 401 response in progress.
        var challenges: [Challenge]?
        /// The challenges that the caller decides.
        var requested: [Challenge] = []
        /// The response to deliver if the caller chooses the default. Nil if its body failed.
        var response: Response?
        var subject: Subject?
    }

    /// Calls with equal subjects share one request.
    private struct Subject: Hashable {
        let origin: Origin
        let offer: PasswordOffer
    }

    /// A request to the caller, and the calls that wait for the decision.
    private final class PasswordRequest {
        let number: Int
        let challenge: PendingChallenge
        var calls: [Call] = []

        init(_ number: Int, _ challenge: PendingChallenge) {
            self.number = number
            self.challenge = challenge
        }
    }

    /// Forgets all passwords.
    func forget() { passwords.removeAll() }

    // MARK: Down

    override func outgoing(_ call: Call) -> Verdict {
        guard call.options.requestsPassword, !call.credentialsAreDropped else { return .proceed }
        let progress = call.states[states] ?? Progress()
        call.states[states] = progress
        let request = call.request
        let wasSigned = progress.conversation.isSigned
        let field = progress.conversation.authorization(
            request.method, request.url, body: request.body,
            random: SecureRandom.bytes(DigestAuthentication.randomByteCount), &passwords)
        guard field != nil || wasSigned else { return .proceed }
        call.loginIsReplaced = field != nil
        return call.setAuthorization(field)
    }

    // MARK: Up

    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        guard let progress = call.states[states] else { return .proceed }
        // Discards the challenges of an earlier attempt that failed.
        progress.challenges = nil
        guard !call.credentialsAreDropped else { return .proceed }
        guard head.status == 401 else {
            // The Authentication-Info field of a cached response belongs to another request.
            guard progress.conversation.isSigned, !call.isReplaying else { return .proceed }
            let isProven = progress.conversation.responded(
                head.status, info: head.headers["Authentication-Info"], to: call.request.fields["Authorization"],
                from: call.request.url, &passwords)
            return isProven ? .proceed : .fail(DigestAuthentication.unproven)
        }
        progress.challenges = Challenge.parse(head.headers.values("WWW-Authenticate"))
        call.collectsBody = true
        return .proceed
    }

    override func responded(_ response: Response, _ call: Call) -> Verdict {
        switch challenged(call, response) {
        case nil: .proceed
        case .proceed: .respond(call.settle(response))
        case .some(let verdict): verdict
        }
    }

    /// Handles a 401 response whose body failed. The body is not needed to repeat the call.
    override func failed(_ error: NightjarError, _ call: Call) -> Verdict { challenged(call, nil) ?? .proceed }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        guard let progress = call.states[states], let subject = progress.subject.take(),
            let shared = pending[subject]
        else { return }
        shared.calls.removeAll { $0 === call }
        guard shared.calls.isEmpty else { return }
        shared.challenge.withdraw()
        pending[subject] = nil
    }

    private func challenged(_ call: Call, _ response: Response?) -> Verdict? {
        guard let progress = call.states[states], let challenges = progress.challenges.take() else { return nil }
        guard call.bodyIsReplayable else {
            return stop(call, because: RetryPolicy.Reason.bodyWasConsumed.description)
        }
        let request = call.request
        let action = progress.conversation.challenged(challenges, for: request.url, body: request.body, &passwords)
        switch action {
        case .send:
            call.wasRejectedByLimit = true
            call.decide(.challenged)
            return .again(after: .zero)
        case .request(let offer, let rejections):
            call.wasRejectedByLimit = true
            progress.requested = challenges
            progress.response = response
            wait(call, progress, Subject(origin: request.origin, offer: offer), rejections)
            return .wait
        // The client cannot respond to other schemes, so there was no decision.
        case .stop(.notOffered): return .proceed
        case .stop(.rejected):
            return stop(call, because: "the server rejected \(PasswordConversation.maximumRequests) passwords")
        }
    }

    private func stop(_ call: Call, because reason: String) -> Verdict {
        call.decide(.notRetried(cause: "the server requires authentication (401)", because: reason))
        return .proceed
    }

    // MARK: Decisions

    private func wait(_ call: Call, _ progress: Progress, _ subject: Subject, _ rejections: Int) {
        progress.subject = subject
        let shared = pending[subject] ?? begin(subject, rejections, on: call.loop)
        shared.calls.append(call)
        shared.challenge.post(for: call)
    }

    private func begin(_ subject: Subject, _ rejections: Int, on loop: ClientLoop) -> PasswordRequest {
        let details = Authentication.Challenge.Details(
            kind: .http(scheme: subject.offer.scheme.rawValue, realm: subject.offer.realm), host: subject.origin.host,
            port: subject.origin.port, isEncrypted: subject.origin.isTLS, rejections: rejections)
        lastNumber += 1
        let number = lastNumber
        let decide = OnLoop<Authentication.Challenge.Response> { [weak self] response in
            self?.decided(subject, number, response)
        }
        let shared = PasswordRequest(number, PendingChallenge(details, handler, on: loop) { decide.body($0) })
        pending[subject] = shared
        return shared
    }

    private func decided(
        _ subject: Subject, _ number: Int, _ response: Authentication.Challenge.Response
    ) {
        // The calls of an earlier request have ended.
        guard let shared = pending[subject], shared.number == number else { return }
        pending[subject] = nil
        let details = shared.challenge.details
        var password: ProvidedPasswords.ID?
        if case .password(let user, let text) = response {
            password = passwords.add(user: user, password: text, for: subject.offer, from: subject.origin)
        }
        for call in shared.calls {
            guard let progress = call.states[states], progress.subject.take() != nil else { continue }
            call.decide(details.decision(response))
            call.resume(verdict(response, password, details, progress, call))
        }
    }

    private func verdict(
        _ response: Authentication.Challenge.Response, _ password: ProvidedPasswords.ID?,
        _ details: Authentication.Challenge.Details, _ progress: Progress, _ call: Call
    ) -> Verdict {
        let delivered = progress.response.take()
        let challenges = progress.requested
        progress.requested = []
        if let password {
            let request = call.request
            progress.conversation.provided(
                password, challenges, for: request.url, body: request.body, &passwords)
            return .again(after: .zero)
        }
        if case .cancel(let message) = response { return .fail(details.cancelled(message, phase: .receive)) }
        return delivered.map { .respond(call.settle($0)) } ?? .proceed
    }
}
