/// A scheme with a user name and a password that a server offers in a 401 response, and its realm.
public struct PasswordOffer: Sendable, Hashable {
    public enum Scheme: String, Sendable {
        /// RFC 7617.
        case basic = "Basic"
        /// RFC 7616.
        case digest = "Digest"
    }

    public let scheme: Scheme
    /// Empty if the server has sent none.
    public let realm: String

    public init(_ scheme: Scheme, realm: String) {
        self.scheme = scheme
        self.realm = realm
    }

    /// The strongest of the offered schemes: Digest before Basic. Nil if the server offers neither in a form that can
    /// be used for this body.
    public init?(_ challenges: [Challenge], for body: RequestBody) {
        if let digest = DigestAuthentication.strongest(challenges.compactMap(DigestChallenge.init), for: body) {
            self.init(.digest, realm: digest.realm)
        } else if let basic = challenges.first(where: { $0.scheme == "basic" }) {
            self.init(.basic, realm: basic["realm"] ?? "")
        } else {
            return nil
        }
    }
}
