import NIOHTTP1
import NightjarCrypto
import NightjarSystem

/// Resources that require a signed request.
///
/// The field X-Signature is the HMAC-SHA256, in hexadecimal digits, of four lines that are joined with LF: the method, the
/// target, the field X-Timestamp (seconds since 1970), and the SHA-256 digest of the body in hexadecimal digits.
enum SignedRequests {
    private static let secret = "demo-signing-secret"
    /// The largest accepted difference between the timestamp and the clock, in seconds.
    private static let tolerance = 300

    static func add(to router: inout Router) {
        router.on(.GET, "/signed", respond)
        router.on(.POST, "/signed", respond)
    }

    private static func respond(_ request: Request) throws(Problem) -> Response {
        let headers = request.head.headers
        guard let signature = headers.first(name: "x-signature"), let timestamp = headers.first(name: "x-timestamp")
        else {
            throw rejected("the fields X-Timestamp and X-Signature are required")
        }
        guard let seconds = Int(timestamp), (time(nil) - tolerance...time(nil) + tolerance).contains(seconds) else {
            throw rejected("the timestamp differs by more than \(tolerance) seconds from the server's clock")
        }
        let digest = DigestAlgorithm.hexadecimal(Hash.sha256(Array(request.body.readableBytesView)))
        let text = [request.head.method.rawValue, request.head.uri, timestamp, digest].joined(separator: "\n")
        guard let expected = code(of: text), signature.lowercased() == expected else {
            throw rejected("the signature does not match the request")
        }
        return .json(["signed": .bool(true), "body_bytes": .int(request.body.readableBytes)])
    }

    /// Returns the signature of a text. Nil if memory could not be allocated.
    private static func code(of text: String) -> String? {
        let hash = Array(secret.utf8).withUnsafeBytes { RunningHash(.sha256, key: $0) }
        Array(text.utf8).withUnsafeBytes { hash?.update($0) }
        return hash.map { DigestAlgorithm.hexadecimal($0.finish()) }
    }

    private static func rejected(_ why: String) -> Problem {
        Problem(
            .unauthorized, "the request is not signed: \(why)",
            headers: ["WWW-Authenticate": "HMAC-SHA256 realm=\"\(Protected.realm)\""])
    }
}
