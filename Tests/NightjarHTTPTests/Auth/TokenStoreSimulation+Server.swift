import NightjarTestSupport

@testable import NightjarHTTP

/// An authorization server with rotating refresh tokens.
struct SimulatedServer {
    struct Redemption {
        let key: String?
        let successor: Token
        /// Whether the successor was saved in the store.
        var isReplaced = false
        /// Whether the store was deleted after the redemption. No process can then know that the token was redeemed.
        var isForgiven = false
    }

    var honoursKeys = true
    /// Access tokens of an earlier epoch have expired.
    var epoch = 0
    private(set) var violation: String?
    private var count = 0
    private var families = 0
    private var family: [String: Int] = [:]
    private var epochs: [String: Int] = [:]
    private var revoked: Set<Int> = []
    private var redemptions: [String: Redemption] = [:]

    mutating func issue(family known: Int?) -> Token {
        count += 1
        if known == nil { families += 1 }
        let token = Token(access: "a\(count)", refresh: "r\(count)")
        for name in [token.access, token.refresh ?? ""] { family[name] = known ?? families }
        epochs[token.access] = epoch
        return token
    }

    mutating func revokeAll() { revoked = Set(1...max(families, 1)) }

    func accepts(_ token: Token) -> Bool {
        epochs[token.access] == epoch && !(family[token.access].map(revoked.contains) ?? true)
    }

    mutating func forgive() {
        for refresh in redemptions.keys { redemptions[refresh]?.isForgiven = true }
    }

    /// Records that the store contains the successor of a refresh token.
    mutating func replaced(_ refresh: String) { redemptions[refresh]?.isReplaced = true }

    /// - Parameters:
    ///   - hasSuccessor: The requesting process has already received the response to this refresh token.
    ///   - isForgotten: The store, with the intent, was deleted after the update was requested.
    mutating func redeem(
        _ refresh: String, key: String?, hasSuccessor: Bool, isForgotten: Bool
    ) -> LoginUpdate.Result {
        guard let family = family[refresh], !revoked.contains(family) else { return .invalidGrant }
        if let redemption = redemptions[refresh] {
            guard !redemption.isForgiven, !isForgotten else { return .invalidGrant }
            if redemption.key != key { violation = violation ?? "\(refresh) was redeemed with two different keys" }
            if hasSuccessor { violation = violation ?? "\(refresh) was redeemed by a process with its successor" }
            if redemption.isReplaced { violation = violation ?? "\(refresh) was redeemed, but has a saved successor" }
            return honoursKeys ? .token(redemption.successor) : .invalidGrant
        }
        let successor = issue(family: family)
        redemptions[refresh] = Redemption(key: key, successor: successor, isForgiven: isForgotten)
        return .token(successor)
    }
}
