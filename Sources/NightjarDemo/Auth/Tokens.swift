import NIOCore

/// Logins with their access tokens and rotating refresh tokens. Used only on the server's event loop.
///
/// All tokens that descend from one login form a family. A refresh token can be redeemed once. If a client presents it
/// again, it may have been stolen, so the whole family ends (RFC 9700 section 4.14.2).
final class Tokens: Resettable {
    /// The user or client to which an access token was issued.
    enum Holder {
        case user(Int)
        /// The client itself, without a user.
        case client
    }

    /// The tokens that a client receives.
    struct Grant {
        let accessToken: String
        /// Nil for the client's own credentials.
        let refreshToken: String?
        let lifetime: Double
    }

    enum Refresh {
        case granted(Grant)
        /// The token is unknown, its login has ended, or the token was redeemed before, which ends the login.
        case refused
    }

    private struct Family {
        let holder: Holder
        /// The lifetime of the login's access tokens in seconds.
        let lifetime: Double
        var hasEnded = false
    }

    private struct AccessToken {
        let family: Int
        /// The number of the token, in the order of issue.
        let number: Int
        let expiresAt: NIODeadline
    }

    private struct RefreshToken {
        let family: Int
        var isRedeemed = false
    }

    static let lifetimeLimit = 86_400.0
    static let defaultLifetime = 60.0
    private static let maximumScope = 1000

    /// The maximum numbers of families and tokens. If a maximum is exceeded, the oldest one is dropped and becomes
    /// invalid.
    private static let maximumFamilies = 20_000
    private static let maximumTokens = 50_000

    private let ledger: Ledger
    private var families = BoundedTable<Int, Family>(capacity: Tokens.maximumFamilies)
    private var accessTokens = BoundedTable<String, AccessToken>(capacity: Tokens.maximumTokens)
    private var refreshTokens = BoundedTable<String, RefreshToken>(capacity: Tokens.maximumTokens)
    private var lastFamily = 0
    private var lastAccessToken = 0
    /// All access tokens up to this number count as expired, regardless of their lifetime.
    private var lastExpired = 0

    init(ledger: Ledger) {
        self.ledger = ledger
    }

    /// Ends all logins.
    func reset() {
        families.removeAll()
        accessTokens.removeAll()
        refreshTokens.removeAll()
    }

    /// Expires all access tokens issued so far.
    func expireAccessTokens() { lastExpired = lastAccessToken }

    // MARK: Issuing

    /// Records the scope of a token request, truncated to ``maximumScope`` characters.
    func note(scope: String?) { ledger.note { $0.auth.scope = String((scope ?? "").prefix(Tokens.maximumScope)) } }

    /// Starts a login.
    ///
    /// - Parameter lifetime: the lifetime of the login's access tokens in seconds.
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

    /// Returns a random text with 192 bits of entropy.
    static func random(_ prefix: String) -> String {
        var generator = SystemRandomNumberGenerator()
        return prefix + Base64.encodeForURL((0..<24).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }

    // MARK: Checking and ending

    /// Returns the holder of an access token. Returns nil and counts a refusal in the statistics if the token is
    /// unknown or expired, or if its login has ended.
    func holder(of token: String) -> (family: Int, holder: Holder)? {
        guard let found = validHolder(of: token) else {
            ledger.note { $0.auth.refused += 1 }
            return nil
        }
        return found
    }

    /// True if an access token is known and has not expired, and if its login has not ended. Not counted.
    func isValid(_ token: String) -> Bool { validHolder(of: token) != nil }

    private func validHolder(of token: String) -> (family: Int, holder: Holder)? {
        guard let entry = accessTokens[token], entry.number > lastExpired, .now() < entry.expiresAt,
            let family = families[entry.family], !family.hasEnded
        else { return nil }
        return (entry.family, family.holder)
    }

    func logout(_ family: Int) {
        ledger.note { $0.auth.logouts += 1 }
        end(family)
    }

    /// Ends a login and invalidates its tokens. Has no effect if the login has ended or been dropped.
    func end(_ family: Int) {
        guard var entry = families[family] else { return }
        entry.hasEnded = true
        families.set(entry, for: family)
    }
}
