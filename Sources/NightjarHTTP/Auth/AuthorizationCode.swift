import NIOCore

/// Receives an authorization code from the user's browser on a loopback port. RFC 6749 section 4.1 with RFC 7636, RFC
/// 8252 section 7.3 and RFC 9207.
///
///     waiting ──code──▶ ended
///        ├────error, another issuer──▶ ended
///        └────anything else──▶ waiting
///
/// Any web page that the user visits can send requests to the port. A request without the login's state parameter does
/// not come from the authorization server. Such a request gets an error response and does not end the login.
public struct AuthorizationCode: Sendable, CustomStringConvertible, CustomReflectable {
    public enum Outcome: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
        /// The code, for ``exchange(_:client:)``.
        case code(String)
        case failed(Reason)

        public var description: String {
            switch self {
            case .code: "code ***"
            case .failed(let reason): "failed: \(reason)"
            }
        }
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    public enum Reason: Sendable, Equatable {
        case refused(TokenResponse.Refusal)
        /// The issuer in the redirect is missing or is another server. The code must not be sent to this login's
        /// server.
        case wrongIssuer
    }

    public struct BrowserResult: Sendable {
        /// The response for the browser. The caller closes the connection after this response.
        public let reply: BrowserReply
        /// The result of the login. Nil while the login is still waiting.
        public let outcome: Outcome?
    }

    /// The number of random bytes for the state. RFC 6749 section 10.10 requires at least 16.
    public static let randomByteCount = 32
    /// The path of the redirect.
    private static let path = "/callback"

    public let redirect: String
    private let clientID: String
    private let scope: String?
    private let state: String
    private let proof: ProofKey
    private let issuer: String?
    private var hasEnded = false

    /// - Parameters:
    ///   - port: the port on 127.0.0.1 on which the caller is already listening.
    ///   - random: ``randomByteCount`` unpredictable bytes.
    ///   - issuer: the server's issuer identifier, if the server includes it in redirects (RFC 9207). If nil, the
    ///     issuer is not checked.
    public init(
        clientID: String, scope: String? = nil, port: Int, random: [UInt8], proof: ProofKey, issuer: String? = nil
    ) {
        self.clientID = clientID
        self.scope = scope
        self.proof = proof
        self.issuer = issuer
        state = ProofKey.base64URL(random)
        // "localhost" is not used, because it may resolve to another host. RFC 8252 section 8.3.
        redirect = "http://127.0.0.1:\(port)\(AuthorizationCode.path)"
    }

    public var description: String { "login at \(redirect)" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns the URL to open in the user's browser.
    ///
    /// - Parameter endpoint: the server's authorization endpoint. Its query is kept.
    /// - Throws: `invalid_url` if `endpoint` is not a valid URL.
    public func authorizationURL(at endpoint: String) throws(NightjarError) -> String {
        let url = try RequestURL(endpoint)
        let query = OAuthRequest.authorizationQuery(
            clientID: clientID, redirect: redirect, scope: scope, state: state, proof: proof)
        return url.origin.description + url.target + (url.query == nil ? "?" : "&") + query
    }

    /// Returns the request that exchanges the code for a token.
    public func exchange(_ code: String, client: OAuthRequest.ClientAuthentication) -> OAuthRequest {
        .authorizationCode(code, redirect: redirect, verifier: proof, client: client)
    }

    /// Handles a request that arrived on the port.
    ///
    /// - Parameter target: the path and query from the request line.
    public mutating func requested(_ method: Method, _ target: String) -> BrowserResult {
        let parts = target.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
        guard !hasEnded, let place = parts.first, place.elementsEqual(AuthorizationCode.path.utf8) else {
            return BrowserResult(
                reply: BrowserReply(404, "This address is not part of a login in progress."), outcome: nil)
        }
        guard method == .get else {
            return BrowserResult(reply: BrowserReply(405, "This address accepts only GET requests."), outcome: nil)
        }
        let query = RedirectQuery(parts.dropFirst().first ?? "".utf8[...])
        guard let given = query["state"], AuthorizationCode.isSame(given, state) else {
            return BrowserResult(
                reply: BrowserReply(
                    400,
                    "This request does not belong to the login in progress. Continue on the page that the program opened, "
                        + "or start the login again."),
                outcome: nil)
        }
        if let issuer, !(query["iss"] ?? "").utf8.elementsEqual(issuer.utf8) {
            return end("This response is not from the expected server. You are not signed in.", .wrongIssuer)
        }
        if let code = query["error"] {
            return end(
                "The server did not sign you in. You can close this page.",
                .refused(
                    TokenResponse.Refusal(
                        code: code, description: query["error_description"], uri: query["error_uri"])))
        }
        guard let code = query["code"] else {
            return BrowserResult(
                reply: BrowserReply(400, "The server sent no authorization code. Start the login again."), outcome: nil)
        }
        hasEnded = true
        return BrowserResult(
            reply: BrowserReply(200, "The server accepted the sign-in. Close this page and go back to the program."),
            outcome: .code(code))
    }

    private mutating func end(_ text: String, _ reason: Reason) -> BrowserResult {
        hasEnded = true
        return BrowserResult(reply: BrowserReply(200, text), outcome: .failed(reason))
    }

    /// Compares two strings. The time depends on their lengths, but not on their content.
    private static func isSame(_ given: String, _ own: String) -> Bool {
        guard given.utf8.count == own.utf8.count else { return false }
        return zip(given.utf8, own.utf8).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension AuthorizationCode.Reason {
    public var error: NightjarError {
        switch self {
        case .refused(let refusal): refusal.error
        case .wrongIssuer:
            NightjarError(
                .unauthorized,
                "the login failed: the issuer in the redirect (iss) is missing or is a different server, so the code "
                    + "was not used")
        }
    }
}

/// The first 64 items of the redirect's query. A name that occurs more than once has no value. RFC 6749 section 3.1.
private struct RedirectQuery {
    private var items: [String: String?] = [:]

    init(_ text: Substring.UTF8View) {
        for item in text.split(separator: UInt8(ascii: "&")).prefix(64) {
            let name = item.prefix { $0 != UInt8(ascii: "=") }
            let key = RedirectQuery.decoded(name)
            let isFirst = items[key] == nil
            items[key] = .some(isFirst ? RedirectQuery.decoded(item[name.endIndex...].dropFirst()) : nil)
        }
    }

    subscript(_ name: String) -> String? {
        guard let value = items[name], let value, !value.isEmpty else { return nil }
        return value
    }

    private static func decoded(_ text: Substring.UTF8View) -> String {
        String(decoding: PercentEncoding.decoded(text.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }), as: UTF8.self)
    }
}
