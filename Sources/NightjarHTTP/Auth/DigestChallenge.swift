/// A supported `WWW-Authenticate: Digest` challenge. RFC 7616 section 3.3.
struct DigestChallenge: Sendable, Equatable {
    enum Protection: String, Sendable {
        /// The digest covers the method and the target.
        case auth
        /// The digest covers the method, the target and the body.
        case body = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: DigestAuthentication.Algorithm
    /// The algorithm name as the server wrote it. Nil if it is missing, which means MD5.
    let algorithmName: String?
    let isSession: Bool
    /// The protection that the client uses. Nil if the server offers none, as do servers older than RFC 2617.
    let protection: Protection?
    let isStale: Bool
    let hashesUser: Bool
    /// The URLs for which the credentials are valid, as the server wrote them. Empty for the whole origin.
    let domain: [Substring]

    /// - Returns: nil for another scheme and for an unsupported challenge.
    init?(_ challenge: Challenge) {
        guard challenge.scheme == "digest", let realm = challenge["realm"], let nonce = challenge["nonce"] else {
            return nil
        }
        self.realm = realm
        self.nonce = nonce
        opaque = challenge["opaque"]
        algorithmName = challenge["algorithm"]
        let name = String(decoding: (algorithmName ?? "MD5").utf8.map(ASCII.lowercase), as: UTF8.self)
        isSession = name.hasSuffix("-sess")
        guard let algorithm = DigestAuthentication.Algorithm(rawValue: isSession ? String(name.dropLast(5)) : name)
        else { return nil }
        self.algorithm = algorithm
        if let offers = challenge["qop"] {
            let names = offers.utf8.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }
            func isOffered(_ protection: Protection) -> Bool {
                names.contains { ASCII.equalIgnoringCase($0, protection.rawValue.utf8) }
            }
            guard let best = [Protection.auth, .body].first(where: isOffered) else { return nil }
            protection = best
        } else {
            // Without qop, only plain MD5 is supported: a session key requires a client nonce, and the SHA algorithms
            // require qop.
            guard algorithm == .md5, !isSession else { return nil }
            protection = nil
        }
        isStale = challenge.hasFlag("stale")
        hashesUser = challenge.hasFlag("userhash")
        domain = (challenge["domain"] ?? "").split(separator: " ")
    }

    /// Returns true if credentials can be computed for this body. auth-int requires a body in memory.
    func admits(_ body: RequestBody) -> Bool { protection != .body || body.inMemory != nil }
}

extension Challenge {
    fileprivate func hasFlag(_ name: String) -> Bool {
        self[name].map { ASCII.equalIgnoringCase($0.utf8, "true".utf8) } ?? false
    }
}

extension RequestBody {
    /// The bytes of the body. Nil if the body is read while it is sent.
    var inMemory: [UInt8]? {
        switch self {
        case .none, .upgrade: []
        case .bytes(let bytes): Array(bytes.readableBytesView)
        case .stream, .file, .multipart: nil
        }
    }
}
