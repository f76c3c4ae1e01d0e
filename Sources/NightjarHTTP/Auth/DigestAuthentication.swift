/// Proves that we know a password without sending it. RFC 7616. One for a login and the origin it belongs to.
///
///     nothing known ──challenge──▶ a nonce, for this call and for later ones ──refused──▶ nothing known
///                                        └──stale, or a next nonce──▶ another nonce
public struct DigestAuthentication: Sendable, CustomStringConvertible, CustomReflectable {
    public typealias Hash = @Sendable ([UInt8]) -> [UInt8]

    /// From the strongest on.
    public enum Algorithm: String, Sendable, CaseIterable {
        case sha512_256 = "sha-512-256"
        case sha256 = "sha-256"
        case md5
    }

    public enum Verdict: Sendable, Equatable {
        /// Send again, with ``authorization(_:_:body:random:)``.
        case answer
        case stop(Reason)
    }

    public enum Reason: Sendable, Equatable {
        /// No Digest among what the server offers.
        case notOffered
        /// None of a kind that we know.
        case notSupported
        /// The server wants the body to be part of the proof (auth-int), and it is read only while it is sent.
        case bodyIsNotInMemory
        /// The server knows another password, or no such user.
        case refused
    }

    private struct Session: Sendable {
        let challenge: DigestChallenge
        let origin: Origin
        /// What request targets begin with that the answer is good for; nil: all of the origin.
        let space: [String]?
        var nonce: String
        var count: UInt32 = 0
        /// H(A1), for algorithms that keep it for a session, and the client's nonce that is in it.
        var key: (value: String, clientNonce: String)?
    }

    /// As many as RFC 7616's own examples have.
    public static let randomByteCount = 33

    private let user: String
    private let password: String
    private let hashes: [Algorithm: Hash]
    private var session: Session?

    /// - Parameter hashes: this module has no cryptography. A challenge whose algorithm is not among them is not answered.
    public init(user: String, password: String, hashes: [Algorithm: Hash]) {
        self.user = user
        self.password = password
        self.hashes = hashes
    }

    public var description: String { "digest login ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// A request was answered with 401.
    ///
    /// - Parameter answered: how often its call was sent again for this before. What was sent ``unasked(_:_:body:random:)``
    ///   does not count: its nonce may just be too old, and not every server says so.
    public mutating func challenged(
        _ challenges: [Challenge], for url: RequestURL, body: RequestBody, answered: Int
    ) -> Verdict {
        guard challenges.contains(where: { $0.scheme == "digest" }) else { return .stop(.notOffered) }
        let known = challenges.compactMap(DigestChallenge.init).filter { hashes[$0.algorithm] != nil }
        let strongest = Algorithm.allCases.lazy.flatMap { algorithm in known.filter { $0.algorithm == algorithm } }
        guard let best = strongest.first(where: { $0.admits(body) }) else {
            return .stop(known.isEmpty ? .notSupported : .bodyIsNotInMemory)
        }
        // Of a stale nonce the server says that the password was right; once, or it would go on forever.
        guard answered == 0 || answered == 1 && best.isStale else {
            session = nil
            return .stop(.refused)
        }
        session = Session(
            challenge: best, origin: url.origin, space: DigestAuthentication.space(best.domain, url.origin),
            nonce: best.nonce)
        return .answer
    }

    /// The value of Authorization behind a challenge.
    ///
    /// - Parameter random: ``randomByteCount`` bytes that cannot be guessed.
    /// - Returns: nil without a challenge of this origin that this body can be sent for.
    public mutating func authorization(
        _ method: Method, _ url: RequestURL, body: RequestBody, random: [UInt8]
    ) -> String? {
        guard var session, session.origin == url.origin, session.count < .max,
            session.challenge.admits(body), let hash = hashes[session.challenge.algorithm]
        else { return nil }
        session.count += 1
        // A session's key holds the nonce it began with; with another beside it no server could tell.
        let clientNonce = session.key?.clientNonce ?? Base64.encode(random)
        let key =
            session.key?.value
            ?? DigestAnswer.key(
                session.challenge, user: user, password: password, clientNonce: clientNonce, hash: hash)
        if session.challenge.isSession { session.key = (key, clientNonce) }
        self.session = session
        let answer = DigestAnswer(
            challenge: session.challenge, nonce: session.nonce, count: session.count, clientNonce: clientNonce,
            user: user, key: key, hash: hash)
        return answer.value(method: method, target: url.target, body: body.inMemory ?? [])
    }

    /// The value of Authorization for a request that nobody has refused yet, which saves asking twice.
    ///
    /// - Returns: nil where the server has not said that the last challenge holds there.
    public mutating func unasked(
        _ method: Method, _ url: RequestURL, body: RequestBody, random: [UInt8]
    ) -> String? {
        guard let session, session.space?.contains(where: { url.target.hasPrefix($0) }) ?? true else { return nil }
        return authorization(method, url, body: body, random: random)
    }

    /// A request with our answer was accepted. RFC 7616 section 3.5.
    ///
    /// - Parameters:
    ///   - info: the value of Authentication-Info.
    ///   - answer: the value of Authorization that it was sent with.
    /// - Returns: false where the server's own proof is wrong: it does not know the password, and nothing that it says counts.
    public mutating func accepted(_ info: String?, to answer: String, from origin: Origin) -> Bool {
        guard let info, let info = Challenge.parse(["Digest " + info]).first else { return true }
        guard isProof(info, for: answer) else { return false }
        guard session?.origin == origin, let next = info["nextnonce"], !next.isEmpty, next != session?.nonce else {
            return true
        }
        session?.nonce = next
        session?.count = 0
        return true
    }

    /// Also where there is nothing to check: a server need not prove anything, one of before RFC 2617 cannot, and with auth-int
    /// it does so by the body, of which nothing has come yet.
    private func isProof(_ info: Challenge, for answer: String) -> Bool {
        guard let proof = info["rspauth"], let protection = info["qop"],
            ASCII.equalIgnoringCase(protection.utf8, DigestChallenge.Protection.auth.rawValue.utf8),
            let sent = Challenge.parse([answer]).first, let challenge = DigestChallenge(sent),
            challenge.protection == .auth, let hash = hashes[challenge.algorithm], let target = sent["uri"],
            let clientNonce = sent["cnonce"], let count = sent["nc"].flatMap({ UInt32($0, radix: 16) })
        else { return true }
        let key: String
        if challenge.isSession {
            // Of another session by now.
            guard let known = session?.key, known.clientNonce == clientNonce else { return true }
            key = known.value
        } else {
            key = DigestAnswer.key(challenge, user: user, password: password, clientNonce: clientNonce, hash: hash)
        }
        let right = DigestAnswer(
            challenge: challenge, nonce: challenge.nonce, count: count, clientNonce: clientNonce, user: user, key: key,
            hash: hash
        ).proof(target: target)
        return ASCII.equalIgnoringCase(proof.utf8, right.utf8)
    }

    /// For a server that has not shown that it knows the password, though it meant to.
    public static let unproven = NightjarError(
        .protocol,
        "the server does not know the password: the proof in its Authentication-Info (rspauth) is wrong",
        requestMayHaveBeenProcessed: true)

    /// Section 3.3: URLs, of which those of other origins are not ours to believe.
    private static func space(_ domain: [Substring], _ origin: Origin) -> [String]? {
        guard !domain.isEmpty else { return nil }
        return domain.compactMap { entry in
            if entry.utf8.first == UInt8(ascii: "/"), !entry.hasPrefix("//") { return String(entry) }
            guard let url = try? RequestURL(String(entry)), url.origin == origin else { return nil }
            return url.target
        }
    }
}

extension DigestAuthentication.Reason {
    public var error: NightjarError {
        switch self {
        case .notOffered: NightjarError(.unauthorized, "the server offers no Digest: use the scheme that it names")
        case .notSupported:
            NightjarError(.unauthorized, "the server offers Digest with algorithms or protections that are not known")
        case .bodyIsNotInMemory:
            NightjarError(
                .unauthorized, "the server wants the body to be part of the Digest (auth-int); give it as bytes")
        case .refused: NightjarError(.unauthorized, "the server refused user name or password")
        }
    }
}
