/// What a server asks for with `WWW-Authenticate: Digest`, as far as we can answer it. RFC 7616 section 3.3.
struct DigestChallenge: Sendable, Equatable {
    enum Protection: String, Sendable {
        /// Method and target.
        case auth
        /// The body as well.
        case body = "auth-int"
    }

    let realm: String
    let nonce: String
    let opaque: String?
    let algorithm: DigestAuthentication.Algorithm
    /// As the server wrote it; nil: it wrote none, and means MD5.
    let algorithmName: String?
    let isSession: Bool
    /// Nil for a server of before RFC 2617, which knows neither counter nor nonce of the client.
    let protection: Protection?
    let isStale: Bool
    let hashesUser: Bool
    /// Where else the answer is good for, as written; empty: the whole origin.
    let domain: [Substring]

    /// - Returns: nil for another scheme, and for what nobody can answer.
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
            // The key of a session needs the client's nonce, and SHA came after qop.
            guard algorithm == .md5, !isSession else { return nil }
            protection = nil
        }
        isStale = challenge.says("stale")
        hashesUser = challenge.says("userhash")
        domain = (challenge["domain"] ?? "").split(separator: " ")
    }

    /// Whether a request can be answered for: its body has to be read before it is sent where the server wants it so.
    func admits(_ body: RequestBody) -> Bool { protection != .body || body.inMemory != nil }
}

extension Challenge {
    fileprivate func says(_ name: String) -> Bool {
        self[name].map { ASCII.equalIgnoringCase($0.utf8, "true".utf8) } ?? false
    }
}

extension RequestBody {
    /// Nil for what is read while it is sent.
    var inMemory: [UInt8]? {
        switch self {
        case .none: []
        case .bytes(let bytes): Array(bytes.readableBytesView)
        case .stream, .file, .multipart: nil
        }
    }
}
