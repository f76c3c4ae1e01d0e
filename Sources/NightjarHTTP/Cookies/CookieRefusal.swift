/// Why a cookie was not taken. RFC 6265bis sections 5.6 and 5.7 have the server never told; a log may be.
public enum CookieRefusal: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case controlCharacter
    /// A semicolon, or an equals sign in the name, which would end it.
    case separator
    /// Bytes that could not be sent back as they came, for names and values are text here.
    case notUTF8
    /// Neither a name nor a value.
    case empty
    /// Name and value together exceed ``Cookie/maximumPair`` bytes.
    case tooLarge
    /// The path, or the one that follows from the URL, exceeds ``Cookie/maximumAttribute`` bytes.
    case pathTooLong
    /// No path begins so: it must begin with a slash.
    case invalidPath
    /// The domain is neither the host's own name nor above it.
    case domainMismatch
    /// Nobody may set a cookie for all of `com` or `co.uk`.
    case publicSuffix
    /// Secure, from a server that was not reached by https.
    case secureFromPlain
    /// A secure cookie of that name is there, and https did not bring this one.
    case overwritesSecure
    /// The name promises more than the attributes keep (`__Secure-`, `__Host-`).
    case prefix
    /// SameSite=None without Secure.
    case crossSiteNotSecure
    /// The policy takes cookies only of the site that the program called.
    case thirdParty
    /// The policy takes none.
    case disabled
    /// Everything that there is room for is worth more: the domain's cookies are all secure, and this one is not.
    case noRoom

    public var description: String {
        switch self {
        case .controlCharacter: "a control character is in it"
        case .separator: "a semicolon is in it, or an equals sign in its name"
        case .notUTF8: "it is not UTF-8"
        case .empty: "it has neither name nor value"
        case .tooLarge: "name and value are larger than \(Cookie.maximumPair) bytes"
        case .pathTooLong: "its path is longer than \(Cookie.maximumAttribute) bytes"
        case .invalidPath: "its path does not begin with a slash"
        case .domainMismatch: "its domain is not the host's or above it"
        case .publicSuffix: "its domain is a public suffix"
        case .secureFromPlain: "it is Secure and did not come by https"
        case .overwritesSecure: "it would overlay a Secure cookie and did not come by https"
        case .prefix: "its attributes do not keep what the prefix of its name promises"
        case .crossSiteNotSecure: "it is SameSite=None and not Secure"
        case .thirdParty: "it is of a third party"
        case .disabled: "cookies are switched off"
        case .noRoom: "its domain has no room for a cookie that is not Secure"
        }
    }
}
