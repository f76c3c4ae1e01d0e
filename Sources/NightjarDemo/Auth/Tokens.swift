import NIOCore

/// Logins, their access tokens and their refresh tokens, which rotate. Lives on the server's loop.
///
/// All tokens that descend from one login are a family. A refresh token is redeemed once; whoever presents it again may
/// have stolen it, so the whole family ends (RFC 9700 section 4.14.2).
final class Tokens: Resettable {
    /// Whom an access token stands for.
    enum Holder {
        case user(Int)
        /// Its own credentials, without a user.
        case client
    }

    /// What a client is given.
    struct Grant {
        let accessToken: String
        /// Nil for a client's own credentials.
        let refreshToken: String?
        let lifetime: Double
    }

    enum Refresh {
        case granted(Grant)
        /// Unknown, or of a login that has ended; or redeemed before, which has ended the login now.
        case refused
    }

    private struct Family {
        let holder: Holder
        /// Of its access tokens, in seconds.
        let lifetime: Double
        var hasEnded = false
    }

    private struct AccessToken {
        let family: Int
        /// In the order of issue.
        let number: Int
        let expiresAt: NIODeadline
    }

    private struct RefreshToken {
        let family: Int
        var isRedeemed = false
    }

    static let lifetimeLimit = 86_400.0
    static let defaultLifetime = 60.0
    private static let scopeKept = 1000

    /// The oldest ones are forgotten, which ends them.
    private static let familiesKept = 20_000
    private static let tokensKept = 50_000

    private let ledger: Ledger
    private var families = BoundedTable<Int, Family>(capacity: Tokens.familiesKept)
    private var accessTokens = BoundedTable<String, AccessToken>(capacity: Tokens.tokensKept)
    private var refreshTokens = BoundedTable<String, RefreshToken>(capacity: Tokens.tokensKept)
    private var lastFamily = 0
    private var lastAccessToken = 0
    /// Access tokens up to that number have expired, whatever their time.
    private var lastExpired = 0

    init(ledger: Ledger) {
        self.ledger = ledger
    }

    /// Ends every login.
    func reset() {
        families.removeAll()
        accessTokens.removeAll()
        refreshTokens.removeAll()
    }

    /// Lets each access token issued so far expire now.
    func expireAccessTokens() { lastExpired = lastAccessToken }

    // MARK: Issuing

    /// What a request for a token asks for, as far as it is worth while to keep.
    func note(scope: String?) { ledger.note { $0.auth.scope = String((scope ?? "").prefix(Tokens.scopeKept)) } }

    /// Begins a login.
    ///
    /// - Parameter lifetime: of its access tokens, in seconds.
    func login(_ user: Int, lifetime: Double) -> (family: Int, grant: Grant) {
        ledger.note { $0.auth.logins += 1 }
        return begin(.user(user), lifetime: lifetime)
    }

    func grantToClient(lifetime: Double) -> Grant {
        ledger.note { $0.auth.clientCredentials += 1 }
        let grant = begin(.client, lifetime: lifetime).grant
        return Grant(accessToken: grant.accessToken, refreshToken: nil, lifetime: lifetime)
    }

    /// Redeems a refresh token.
    func refresh(_ token: String) -> Refresh {
        guard var entry = refreshTokens[token], let family = families[entry.family] else { return .refused }
        guard !entry.isRedeemed else {
            ledger.note { $0.auth.refreshReuses += 1 }
            if !family.hasEnded {
                ledger.note { $0.auth.revokedFamilies += 1 }
                end(entry.family)
            }
            return .refused
        }
        guard !family.hasEnded else { return .refused }
        entry.isRedeemed = true
        refreshTokens.set(entry, for: token)
        ledger.note { $0.auth.refreshes += 1 }
        return .granted(issue(entry.family, lifetime: family.lifetime))
    }

    private func begin(_ holder: Holder, lifetime: Double) -> (family: Int, grant: Grant) {
        lastFamily += 1
        families.set(Family(holder: holder, lifetime: lifetime), for: lastFamily)
        return (lastFamily, issue(lastFamily, lifetime: lifetime))
    }

    private func issue(_ family: Int, lifetime: Double) -> Grant {
        lastAccessToken += 1
        let grant = Grant(
            accessToken: Tokens.random("at_"), refreshToken: Tokens.random("rt_"), lifetime: lifetime)
        let expiry = NIODeadline.now() + TimeAmount(seconds: lifetime)
        accessTokens.set(
            AccessToken(family: family, number: lastAccessToken, expiresAt: expiry), for: grant.accessToken)
        if let token = grant.refreshToken { refreshTokens.set(RefreshToken(family: family), for: token) }
        return grant
    }

    /// 192 bits that nobody guesses.
    static func random(_ prefix: String) -> String {
        var generator = SystemRandomNumberGenerator()
        return prefix + Base64.encodeForURL((0..<24).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    // MARK: Checking and ending

    /// Nil where the token is unknown, expired or of a login that has ended; that is counted as refused.
    func holder(of token: String) -> (family: Int, holder: Holder)? {
        guard let entry = accessTokens[token], entry.number > lastExpired, .now() < entry.expiresAt,
            let family = families[entry.family], !family.hasEnded
        else {
            ledger.note { $0.auth.refused += 1 }
            return nil
        }
        return (entry.family, family.holder)
    }

    func logout(_ family: Int) {
        ledger.note { $0.auth.logouts += 1 }
        end(family)
    }

    /// Ends a login: its tokens are worth nothing any more. Does nothing where it has ended or been forgotten.
    func end(_ family: Int) {
        guard var entry = families[family] else { return }
        entry.hasEnded = true
        families.set(entry, for: family)
    }
}
