import NightjarCrypto
import NightjarHTTP

extension ConfiguredToken {
    /// Identifies the configured token by a digest. The store records the digest, so that no client uses the configured
    /// token again after a refresh or a logout has replaced it.
    init(_ token: Token) {
        let text = "nightjar configured token\0\(token.access)\0\(token.refresh ?? "")"
        self.init(
            token: token,
            identity: Digest.sha256(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
