/// Why a cookie was rejected. RFC 6265bis sections 5.6 and 5.7. Servers are not informed; the reason is for logs.
public enum CookieRefusal: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case controlCharacter
    /// A semicolon, or an equals sign in the name, which would end the name or value.
    case separator
    /// The name or value is not UTF-8 and could not be sent back unchanged.
    case notUTF8
    /// Neither a name nor a value.
    case empty
    /// Name and value together exceed ``Cookie/maximumPair`` bytes.
    case tooLarge
    /// The path, or the default path of the URL, exceeds ``Cookie/maximumAttribute`` bytes.
    case pathTooLong
    /// The path does not begin with a slash.
    case invalidPath
    /// The domain is neither the host nor one of its parent domains.
    case domainMismatch
    /// The domain is a public suffix such as `com` or `co.uk`.
    case publicSuffix
    /// A Secure cookie from a server that was not accessed over https.
    case secureFromPlain
    /// A Secure cookie of this name exists, and this one was not received over https.
    case overwritesSecure
    /// The attributes required by the name's prefix (`__Secure-`, `__Host-`) are missing.
    case prefix
    /// SameSite=None without Secure.
    case crossSiteNotSecure
    /// The policy accepts only cookies of the site that the program called.
    case thirdParty
    /// The policy accepts no cookies.
    case disabled
    /// The domain has its maximum number of cookies. All of them are secure and unexpired, and this one is not secure.
    case noRoom

    public var description: String {
        switch self {
        case .controlCharacter: "it contains a control character"
        case .separator: "it contains a semicolon, or its name contains an equals sign"
        case .notUTF8: "it is not UTF-8"
        case .empty: "it has neither a name nor a value"
        case .tooLarge: "its name and value are longer than \(Cookie.maximumPair) bytes"
        case .pathTooLong: "its path is longer than \(Cookie.maximumAttribute) bytes"
        case .invalidPath: "its path does not begin with a slash"
        case .domainMismatch: "its domain is neither the host nor a parent domain"
        case .publicSuffix: "its domain is a public suffix"
        case .secureFromPlain: "it is Secure but was not received over https"
        case .overwritesSecure: "it would shadow a Secure cookie but was not received over https"
        case .prefix: "it lacks the attributes that the prefix of its name requires"
        case .crossSiteNotSecure: "it is SameSite=None but not Secure"
        case .thirdParty: "it comes from a third party"
        case .disabled: "cookies are disabled"
        case .noRoom: "its domain has no room for a cookie that is not Secure"
        }
    }
}
