import NightjarCrypto
import NightjarHTTP

extension ConfiguredToken {
    /// Distinguishes the configured token from later ones by a digest, so that a store that has used it up does not use
    /// it again.
    init(_ token: Token) {
        let text = "nightjar configured token\0\(token.access)\0\(token.refresh ?? "")"
        self.init(
            token: token,
            identity: Digest.sha256(Array(text.utf8)).prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
    }
}
