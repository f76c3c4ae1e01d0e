import NIOCore
import NIOHTTP1

/// Redeems refresh tokens. Used only on the server's event loop.
///
/// For 10 minutes, a request with the same Idempotency-Key and refresh token receives the same response and does not
/// count as reuse. `delay` delays the response after the token has been redeemed. `drop` closes the connection instead
/// of responding.
final class Refreshes: Resettable {
    private struct Attempt: Hashable {
        let key: String
        let token: String
    }

    private struct StoredGrant {
        let document: JSON
        let expiresAt: NIODeadline
    }

    private static let remembered = TimeAmount.minutes(10)
    private static let maximumGrants = 10_000

    private let tokens: Tokens
    private let ledger: Ledger
    private var grants = BoundedTable<Attempt, StoredGrant>(capacity: Refreshes.maximumGrants)

    init(tokens: Tokens, ledger: Ledger) {
        self.tokens = tokens
        self.ledger = ledger
    }

    func reset() { grants.removeAll() }

    func respond(_ request: Request, _ parameters: Parameters) throws(Problem) -> Response {
        guard let token = parameters["refresh_token"], !token.isEmpty else {
            return OAuthError(.invalidRequest, "refresh_token is required").response
        }
        let key = try request.head.headers.idempotencyKey()
        let delay = try parameters.seconds("delay", atMost: 60, or: 0)
        let drops = try parameters.flag("drop")
        var response = redeem(token, key)
        response.delay = TimeAmount(seconds: delay)
        response.isDropped = drops
        return response
    }

    private func redeem(_ token: String, _ key: String?) -> Response {
        let attempt = key.map { Attempt(key: $0, token: token) }
        if let attempt, let stored = grants[attempt], .now() < stored.expiresAt {
            ledger.note { $0.auth.refreshReplays += 1 }
            return .grant(stored.document)
        }
        switch tokens.refresh(token) {
        case .granted(let grant):
            let document = grant.json
            if let attempt {
                grants.set(StoredGrant(document: document, expiresAt: .now() + Refreshes.remembered), for: attempt)
            }
            return .grant(document)
        case .refused:
            return OAuthError(.invalidGrant, "the refresh token is unknown, already redeemed or revoked").response
        }
    }
}
