/// Digest authentication for one login. Proves knowledge of the password without sending the password. RFC 7616.
///
///     no session ──challenge──▶ a nonce, for this call and later calls ──refused──▶ no session
///                                     └──stale nonce or nextnonce──▶ a new nonce
public struct DigestAuthentication: Sendable, CustomStringConvertible, CustomReflectable {
    public typealias Hash = @Sendable ([UInt8]) -> [UInt8]

    /// The algorithms, strongest first.
    public enum Algorithm: String, Sendable, CaseIterable {
        case sha512_256 = "sha-512-256"
        case sha256 = "sha-256"
        case md5
    }

    public enum Verdict: Sendable, Equatable {
        /// Send the request again with ``authorization(_:_:body:random:)``.
        case respond
        case stop(Reason)
    }

    public enum Reason: Sendable, Equatable {
        /// The server offers no Digest challenge.
        case notOffered
        /// The server offers only algorithms or protections that are not supported.
        case notSupported
        /// The server requires the body in the digest (auth-int), but the body is read only while it is sent.
        case bodyIsNotInMemory
        /// The server rejected the user name or the password, or reported a stale nonce twice in one call.
        case refused
    }

    private struct Session: Sendable {
        let challenge: DigestChallenge
        let origin: Origin
        /// The prefixes of the request targets for which the challenge is valid. Nil for the whole origin.
        let space: [String]?
        var nonce: String
        var count: UInt32 = 0
        /// For session algorithms (`-sess`): H(A1) and the client nonce from which it was computed. Nil for other
        /// algorithms.
        var key: (value: String, clientNonce: String)?
    }

    /// The repetitions of one call after challenges.
    public struct Repetitions: Sendable {
        fileprivate var hasRepetition = false
        /// True if the call was repeated because its nonce was stale.
        fileprivate var hadStaleNonce = false

        public init() {}
    }

    /// The number of random bytes for a client nonce, as in the examples of RFC 7616.
    public static let randomByteCount = 33

    private let user: String
    private let password: String
    private let hashes: [Algorithm: Hash]
    private var session: Session?

    /// - Parameter hashes: the hash functions. Challenges for other algorithms are not supported.
    public init(user: String, password: String, hashes: [Algorithm: Hash]) {
        self.user = user
        self.password = password
        self.hashes = hashes
    }

    public var description: String { "digest login ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Handles a 401 response.
    ///
    /// - Parameter repetitions: the earlier repetitions of the call. A request sent with
    ///   ``preemptive(_:_:body:random:)`` is not a repetition, because its nonce may have expired.
    public mutating func challenged(
        _ challenges: [Challenge], for url: RequestURL, body: RequestBody, _ repetitions: inout Repetitions
    ) -> Verdict {
        guard challenges.contains(where: { $0.scheme == "digest" }) else { return .stop(.notOffered) }
        let known = challenges.compactMap(DigestChallenge.init).filter { hashes[$0.algorithm] != nil }
        guard let best = DigestAuthentication.strongest(known, for: body) else {
            return .stop(known.isEmpty ? .notSupported : .bodyIsNotInMemory)
        }
        // `stale=true` means that the password was correct. The client accepts `stale=true` once in each call,
        // to prevent an endless loop.
        guard best.isStale ? !repetitions.hadStaleNonce : !repetitions.hasRepetition else {
            session = nil
            return .stop(.refused)
        }
        repetitions.hasRepetition = true
        if best.isStale { repetitions.hadStaleNonce = true }
        session = Session(
            challenge: best, origin: url.origin, space: DigestAuthentication.space(best.domain, url.origin),
            nonce: best.nonce)
        return .respond
    }

    /// Returns the challenge with the strongest algorithm that can be used for this body.
    static func strongest(_ challenges: [DigestChallenge], for body: RequestBody) -> DigestChallenge? {
        Algorithm.allCases.lazy.flatMap { algorithm in challenges.filter { $0.algorithm == algorithm } }
            .first { $0.admits(body) }
    }

    /// Returns the Authorization value for a request that was challenged, and increments the nonce count.
    ///
    /// - Parameter random: ``randomByteCount`` unpredictable bytes.
    /// - Returns: nil if there is no challenge for this origin, if the nonce count is exhausted, or if the challenge
    ///   cannot be used with this body or in a field value.
    public mutating func authorization(
        _ method: Method, _ url: RequestURL, body: RequestBody, random: [UInt8]
    ) -> String? {
        guard var session, session.origin == url.origin, session.count < .max,
            session.challenge.admits(body), let hash = hashes[session.challenge.algorithm]
        else { return nil }
        session.count += 1
        // The key of a session algorithm depends on the client nonce of the first request, so later requests send the
        // same client nonce.
        let clientNonce = session.key?.clientNonce ?? Base64.encode(random)
        let key =
            session.key?.value
            ?? DigestResponse.key(
                session.challenge, user: user, password: password, clientNonce: clientNonce, hash: hash)
        if session.challenge.isSession { session.key = (key, clientNonce) }
        self.session = session
        let credentials = DigestResponse(
            challenge: session.challenge, nonce: session.nonce, count: session.count, clientNonce: clientNonce,
            user: user, key: key, hash: hash)
        return credentials.value(method: method, target: url.target, body: body.inMemory ?? [])
    }

    /// Returns the Authorization value for a request that was not challenged, which saves a round trip.
    ///
    /// - Returns: nil if the last challenge is not known to apply to this URL, or if
    ///   ``authorization(_:_:body:random:)`` returns nil.
    public mutating func preemptive(
        _ method: Method, _ url: RequestURL, body: RequestBody, random: [UInt8]
    ) -> String? {
        guard let session, session.space?.contains(where: { url.target.hasPrefix($0) }) ?? true else { return nil }
        return authorization(method, url, body: body, random: random)
    }

    /// Handles a response to a request that was sent with digest credentials. RFC 7616 section 3.5.
    ///
    /// - Parameters:
    ///   - info: the value of Authentication-Info.
    ///   - credentials: the Authorization value of the request.
    /// - Returns: false if the server's proof (rspauth) is invalid. The server has then not proven that it has the
    ///   password, and its response must not be trusted.
    public mutating func accepted(_ info: String?, to credentials: String, from origin: Origin) -> Bool {
        guard let info, let info = Challenge.parse(["Digest " + info]).first else { return true }
        guard isProof(info, for: credentials) else { return false }
        guard session?.origin == origin, let next = info["nextnonce"], !next.isEmpty, next != session?.nonce else {
            return true
        }
        session?.nonce = next
        session?.count = 0
        return true
    }

    /// Returns false if the server's proof is invalid. Returns true if there is no proof that can be checked: servers
    /// need not send a proof, and with auth-int the proof covers the body, which has not arrived yet.
    private func isProof(_ info: Challenge, for credentials: String) -> Bool {
        guard let proof = info["rspauth"], let protection = info["qop"],
            ASCII.equalIgnoringCase(protection.utf8, DigestChallenge.Protection.auth.rawValue.utf8),
            let sent = Challenge.parse([credentials]).first, let challenge = DigestChallenge(sent),
            challenge.protection == .auth, let hash = hashes[challenge.algorithm], let target = sent["uri"],
            let clientNonce = sent["cnonce"], let count = sent["nc"].flatMap({ UInt32($0, radix: 16) })
        else { return true }
        let key: String
        if challenge.isSession {
            // If the request was sent with the key of an earlier session, the proof cannot be checked.
            guard let known = session?.key, known.clientNonce == clientNonce else { return true }
            key = known.value
        } else {
            key = DigestResponse.key(challenge, user: user, password: password, clientNonce: clientNonce, hash: hash)
        }
        let right = DigestResponse(
            challenge: challenge, nonce: challenge.nonce, count: count, clientNonce: clientNonce, user: user, key: key,
            hash: hash
        ).proof(target: target)
        return ASCII.equalIgnoringCase(proof.utf8, right.utf8)
    }

    /// The error for a server whose proof (rspauth) is invalid.
    public static let unproven = NightjarError(
        .protocol,
        "the server did not prove that it has the password: rspauth in Authentication-Info is invalid",
        requestMayHaveBeenProcessed: true)

    /// Converts the URLs of a domain parameter to target prefixes. Ignores invalid URLs and URLs of other
    /// origins. Section 3.3.
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
        case .notOffered:
            NightjarError(.unauthorized, "the server does not offer Digest authentication; use a scheme that it offers")
        case .notSupported:
            NightjarError(
                .unauthorized, "the server offers Digest authentication only with unsupported algorithms or protections"
            )
        case .bodyIsNotInMemory:
            NightjarError(
                .unauthorized, "the server requires the body in the digest (auth-int); set the body as bytes")
        case .refused: NightjarError(.unauthorized, "the server rejected the user name or password")
        }
    }
}
