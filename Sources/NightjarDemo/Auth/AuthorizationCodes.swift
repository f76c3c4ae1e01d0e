import NIOCore
import NIOHTTP1

/// `/v1/oauth/authorize`: the authorization code grant with PKCE (RFC 6749 section 4.1, RFC 7636). The browser is
/// redirected immediately, without asking for consent. Used only on the server's event loop.
final class AuthorizationCodes: Resettable {
    enum Redeemed {
        case granted(user: Int)
        /// - Parameter family: the login that the first redemption started.
        case repeated(family: Int?)
        case refused(String)
    }

    private struct Code {
        let redirectURI: String
        let challenge: String
        let user: Int
        let expiresAt: NIODeadline
        var isRedeemed = false
        var family: Int?
    }

    private static let lifetime = TimeAmount.seconds(60)
    private static let maximumCodes = 1000
    private static let textLimit = 2000

    private let store: Store
    private var codes = BoundedTable<String, Code>(capacity: AuthorizationCodes.maximumCodes)

    init(store: Store) {
        self.store = store
    }

    func add(to router: inout Router) {
        router.on(.GET, "/v1/oauth/authorize", authorize)
    }

    func reset() { codes.removeAll() }

    /// Redirects with a code, or with an error, for example if `deny=1`. If the redirect URI cannot be trusted,
    /// responds with an error instead (RFC 6749 section 4.1.2.1).
    private func authorize(_ request: Request) throws(Problem) -> Response {
        guard request.query("client_id") == OAuthClient.id else {
            throw Problem.query("client_id", "must be \"\(OAuthClient.id)\"")
        }
        guard let target = request.query("redirect_uri"), target.utf8.count <= AuthorizationCodes.textLimit,
            AuthorizationCodes.isLoopback(target)
        else { throw Problem.query("redirect_uri", "must be an http URL of 127.0.0.1, [::1] or localhost") }
        let state = request.query("state")
        do throws(OAuthError) {
            guard request.query("response_type") == "code" else {
                throw OAuthError(.unsupportedResponseType, "response_type must be code")
            }
            guard let challenge = request.query("code_challenge"), challenge.utf8.count == 43,
                request.query("code_challenge_method") == "S256"
            else { throw OAuthError(.invalidRequest, "a code_challenge of method S256 is required") }
            if let deny = request.query("deny"), deny != "0" {
                throw OAuthError(.accessDenied, "the user denied the request")
            }
            guard let user = store.users.rows.first else { throw OAuthError(.accessDenied, "there are no users") }
            let code = Tokens.random("ac_")
            codes.set(
                Code(
                    redirectURI: target, challenge: challenge, user: user.id,
                    expiresAt: .now() + AuthorizationCodes.lifetime), for: code)
            return AuthorizationCodes.redirect(to: target, [("code", code), ("state", state)])
        } catch {
            return AuthorizationCodes.redirect(
                to: target,
                [("error", error.code.rawValue), ("error_description", error.description), ("state", state)])
        }
    }

    func redeem(_ text: String, redirectURI: String, verifier: String, now: NIODeadline) -> Redeemed {
        guard var code = codes[text] else { return .refused("unknown code") }
        guard !code.isRedeemed else { return .repeated(family: code.family) }
        // A code can be used only once, even if the attempt fails.
        code.isRedeemed = true
        codes.set(code, for: text)
        guard now < code.expiresAt else { return .refused("the code has expired") }
        guard redirectURI == code.redirectURI else {
            return .refused("redirect_uri differs from the one in the authorization request")
        }
        guard (43...128).contains(verifier.utf8.count),
            Base64.encodeForURL(Hash.sha256(Array(verifier.utf8))) == code.challenge
        else { return .refused("code_verifier does not match the code_challenge") }
        return .granted(user: code.user)
    }

    /// Records the login that a code started. The login ends if the code is used again.
    func note(_ family: Int, of text: String) {
        guard var code = codes[text] else { return }
        code.family = family
        codes.set(code, for: text)
    }

    private static func redirect(to target: String, _ values: [(name: String, value: String?)]) -> Response {
        let query = values.compactMap { pair in pair.value.map { "\(pair.name)=\(Target.encode($0))" } }
        let location = target + (target.contains("?") ? "&" : "?") + query.joined(separator: "&")
        return Response(.found, headers: ["Location": location, "Cache-Control": "no-store"])
    }

    /// Returns whether a redirect URI is a loopback URI (RFC 8252 section 7.3). The URI is sent in a header field, so
    /// it must not contain control characters. A fragment is not allowed.
    private static func isLoopback(_ text: String) -> Bool {
        guard text.hasPrefix("http://"), text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }), !text.contains("#")
        else { return false }
        let authority = text.dropFirst("http://".count).prefix { $0 != "/" && $0 != "?" }
        return ["127.0.0.1", "[::1]", "localhost"].contains { host in
            guard authority.hasPrefix(host) else { return false }
            let rest = authority.dropFirst(host.count)
            return rest.isEmpty || rest.first == ":" && UInt16(rest.dropFirst()) != nil
        }
    }
}
