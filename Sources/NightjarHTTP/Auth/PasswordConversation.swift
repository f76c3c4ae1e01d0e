/// The challenges of one call to which the client responds with user names and passwords of the caller.
///
///     ready ──401──▶ a known password ──▶ send ──401──▶ rejected ──▶ ready
///       └──401──▶ request one ──provided──▶ send ──other status──▶ accepted
///
/// At most ``maximumRequests`` passwords are requested.
public struct PasswordConversation: Sendable {
    public enum Action: Sendable, Equatable {
        /// Send the request again with ``authorization(_:_:body:random:_:)``.
        case send
        /// Request a password of the caller. `rejections` passwords were rejected before in this call.
        case request(PasswordOffer, rejections: Int)
        case stop(Reason)
    }

    public enum Reason: Sendable, Equatable {
        /// The server offers neither Basic nor a supported form of Digest.
        case notOffered
        /// The server has rejected as many passwords as the caller may provide.
        case rejected
    }

    /// The maximum number of passwords that the caller may provide for one call.
    public static let maximumRequests = 5
    /// The maximum number of 401 responses that are handled. The server may also change nonces and realms.
    static let maximumRounds = 20

    private var current: ProvidedPasswords.ID?
    private var tried: Set<ProvidedPasswords.ID> = []
    private var repetitions = DigestAuthentication.Repetitions()
    /// The password that the last request carried, and the URL of that request.
    private var sent: (id: ProvidedPasswords.ID, url: RequestURL)?
    private var respondsToChallenge = false
    private var rejections = 0
    private var requests = 0
    private var rounds = 0

    public init() {}

    /// Whether the last request carried a password of the caller.
    public var isSigned: Bool { sent != nil }

    /// Returns the Authorization value of the next request, or nil if it carries no password of the caller.
    public mutating func authorization(
        _ method: Method, _ url: RequestURL, body: RequestBody, random: @autoclosure () -> [UInt8],
        _ passwords: inout ProvidedPasswords
    ) -> String? {
        sent = nil
        if !respondsToChallenge { current = passwords.preemptive(url) ?? current }
        guard let id = current else { return nil }
        tried.insert(id)
        let field = passwords.authorization(
            id, method, url, body: body, isChallenged: respondsToChallenge, random: random())
        respondsToChallenge = false
        if field != nil { sent = (id, url) }
        return field
    }

    /// Handles a 401 response.
    public mutating func challenged(
        _ challenges: [Challenge], for url: RequestURL, body: RequestBody, _ passwords: inout ProvidedPasswords
    ) -> Action {
        guard let offer = PasswordOffer(challenges, for: body) else { return .stop(.notOffered) }
        rounds += 1
        guard rounds <= PasswordConversation.maximumRounds else { return .stop(.rejected) }
        if let sent, passwords.offer(of: sent.id) ?? offer == offer {
            // After a redirect, the request still has the digest for the earlier URL.
            if sent.url != url { repetitions = DigestAuthentication.Repetitions() }
            if passwords.challenged(sent.id, challenges, for: url, body: body, &repetitions) { return send(sent.id) }
            rejections += 1
            passwords.remove(sent.id)
        }
        // Another call may have received another password.
        if let known = passwords.find(offer, from: url.origin), !tried.contains(known) {
            provided(known, challenges, for: url, body: body, &passwords)
            return .send
        }
        guard requests < PasswordConversation.maximumRequests else { return .stop(.rejected) }
        requests += 1
        return .request(offer, rejections: rejections)
    }

    /// Uses a password that the caller has provided for the last challenge.
    public mutating func provided(
        _ id: ProvidedPasswords.ID, _ challenges: [Challenge], for url: RequestURL, body: RequestBody,
        _ passwords: inout ProvidedPasswords
    ) {
        repetitions = DigestAuthentication.Repetitions()
        _ = passwords.challenged(id, challenges, for: url, body: body, &repetitions)
        _ = send(id)
    }

    private mutating func send(_ id: ProvidedPasswords.ID) -> Action {
        current = id
        respondsToChallenge = true
        return .send
    }

    /// Handles a response other than 401 that was received from a server. A server error does not show whether the
    /// password is correct.
    ///
    /// - Returns: False if the server has not proven that it has the password.
    public mutating func responded(
        _ status: Int, info: String?, to field: String?, from url: RequestURL, _ passwords: inout ProvidedPasswords
    ) -> Bool {
        guard let sent, let field, status < 500, sent.url.origin == url.origin else { return true }
        return passwords.accepted(sent.id, url, info: info, to: field)
    }
}
