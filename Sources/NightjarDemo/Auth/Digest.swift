import NIOCore
import NIOHTTP1

/// `/v1/digest`: HTTP Digest with `qop=auth` (RFC 7616). Used only on the server's event loop.
///
/// `algorithm` selects the challenge: `SHA-256` (the default), `MD5`, `SHA-256-sess`, `MD5-sess`, or `both` for two
/// challenges. A nonce becomes stale after `uses` requests. With `next=1`, each response contains the nonce for the
/// next request.
final class Digest: Resettable {
    private struct Nonce {
        let uses: Int
        /// The nonce counts that have been received. Each count may be used only once.
        var counts: Set<UInt32> = []
        /// The session of the nonce. Nil if the session has not started.
        var session: Session?
    }

    /// The values from which the key of a session is derived. A session ends with the next challenge (RFC 7616 section
    /// 3.6).
    private struct Session {
        let nonce: String
        let cnonce: String
    }

    /// The credentials of a request.
    private struct Attempt {
        let algorithm: DigestAlgorithm
        let nonce: String
        let cnonce: String
        let countText: String
        let count: UInt32
        let uri: String
        let response: String
    }

    private static let maximumNonces = 1000
    private static let usesLimit = 1000
    private static let opaque = "bmlnaHRqYXI"

    private var nonces = BoundedTable<String, Nonce>(capacity: Digest.maximumNonces)

    func add(to router: inout Router) {
        router.on(.GET, "/v1/digest", respond)
        router.on(.POST, "/v1/digest", respond)
    }

    func reset() { nonces.removeAll() }

    private func respond(_ request: Request) throws(Problem) -> Response {
        let choice = try request.query("algorithm", oneOf: DigestAlgorithm.choices)
        let algorithms = DigestAlgorithm.named(choice)
        let uses = try request.query("uses", in: 1...Digest.usesLimit, or: Digest.usesLimit)
        guard let credentials = Credentials(request.head.headers) else {
            throw challenge(algorithms, uses, "Digest credentials are required")
        }
        guard let attempt = Digest.attempt(credentials, request, algorithms) else {
            throw challenge(algorithms, uses, "the Digest credentials do not match this request")
        }
        let kept = nonces[attempt.nonce]
        let sessions = [Session(nonce: attempt.nonce, cnonce: attempt.cnonce), kept?.session].compactMap { $0 }
        guard
            let secret = sessions.map({ Digest.secret(attempt, $0) }).first(where: { secret in
                Digest.response(attempt, secret, method: request.head.method.rawValue) == attempt.response
            })
        else { throw challenge(algorithms, uses, "the user or the password is wrong") }
        // The client has proved that it has the password. An exhausted nonce is therefore only stale.
        guard var nonce = kept, nonce.counts.count < nonce.uses else {
            throw challenge(algorithms, uses, "the nonce is stale", isStale: true)
        }
        guard nonce.counts.insert(attempt.count).inserted else {
            throw challenge(algorithms, uses, "this nonce count was used before")
        }
        nonce.session = nonce.session ?? Session(nonce: attempt.nonce, cnonce: attempt.cnonce)
        nonces.set(nonce, for: attempt.nonce)

        var response = Response.json([
            "user": .string(Protected.user), "algorithm": .string(attempt.algorithm.rawValue),
            "nc": .int(Int(attempt.count)), "method": .string(request.head.method.rawValue),
            "body_bytes": .int(request.body.readableBytes),
        ])
        let proof = Digest.response(attempt, secret, method: "")
        var information = "qop=auth, rspauth=\"\(proof)\", cnonce=\"\(attempt.cnonce)\", nc=\(attempt.countText)"
        if let next = request.query("next"), next != "0" {
            information += ", nextnonce=\"\(newNonce(uses, nonce.session))\""
        }
        response.headers.add(name: "Authentication-Info", value: information)
        return response
    }

    private func challenge(
        _ algorithms: [DigestAlgorithm], _ uses: Int, _ detail: String, isStale: Bool = false
    ) -> Problem {
        let nonce = newNonce(uses)
        let fields = algorithms.map { algorithm in
            let value = """
                Digest realm="\(Protected.realm)", qop="auth", algorithm=\(algorithm.rawValue), nonce="\(nonce)", \
                opaque="\(Digest.opaque)"\(isStale ? ", stale=true" : "")
                """
            return ("WWW-Authenticate", value)
        }
        return Problem(.unauthorized, detail, headers: HTTPHeaders(fields))
    }

    private func newNonce(_ uses: Int, _ session: Session? = nil) -> String {
        let nonce = Tokens.random("")
        nonces.set(Nonce(uses: uses, session: session), for: nonce)
        return nonce
    }

    // MARK: Reading and computing

    /// Returns the credentials of a request. Nil if a parameter is missing or differs from the challenge.
    private static func attempt(
        _ credentials: Credentials, _ request: Request, _ algorithms: [DigestAlgorithm]
    ) -> Attempt? {
        guard credentials.scheme == "digest", let given = credentials.parameters,
            given["realm"] == Protected.realm, given["username"] == Protected.user,
            given["opaque"] == opaque, given["qop"] == "auth", let uri = given["uri"], uri == request.head.uri,
            let nonce = given["nonce"], let cnonce = given["cnonce"], !cnonce.isEmpty, cnonce.utf8.count <= 256,
            let response = given["response"], let countText = given["nc"], countText.utf8.count == 8,
            let count = UInt32(countText, radix: 16), count > 0
        else { return nil }
        // The default algorithm is MD5.
        let name = given["algorithm"] ?? DigestAlgorithm.md5.rawValue
        guard let algorithm = algorithms.first(where: { $0.rawValue.lowercased() == name.lowercased() }) else {
            return nil
        }
        return Attempt(
            algorithm: algorithm, nonce: nonce, cnonce: cnonce, countText: countText, count: count, uri: uri,
            response: response.lowercased())
    }

    /// Returns H(A1) of RFC 7616 section 3.4.2.
    private static func secret(_ attempt: Attempt, _ session: Session) -> String {
        let user = attempt.algorithm.hash("\(Protected.user):\(Protected.realm):\(Protected.password)")
        guard attempt.algorithm.isOfSession else { return user }
        return attempt.algorithm.hash("\(user):\(session.nonce):\(session.cnonce)")
    }

    /// Returns the response of RFC 7616 section 3.4.1. With an empty method, returns the server's proof (section 3.5).
    private static func response(_ attempt: Attempt, _ secret: String, method: String) -> String {
        let request = attempt.algorithm.hash("\(method):\(attempt.uri)")
        return attempt.algorithm.hash(
            "\(secret):\(attempt.nonce):\(attempt.countText):\(attempt.cnonce):auth:\(request)")
    }
}
