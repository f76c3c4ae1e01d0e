/// The reason why a cookie was rejected, for logs. RFC 6265bis sections 5.6 and 5.7.
public enum CookieRefusal: Error, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    case controlCharacter
    /// The name or value contains a semicolon, or the name contains an equals sign.
    case separator
    /// The name, value or path is not UTF-8.
    case notUTF8
    /// The cookie has neither a name nor a value.
    case empty
    /// Name and value together exceed ``Cookie/maximumPair`` bytes.
    case tooLarge
    /// The path, or the default path of the URL, exceeds ``Cookie/maximumAttribute`` bytes.
    case pathTooLong
    /// The path does not begin with a slash.
    case invalidPath
    /// The domain is invalid, or is neither the host nor one of its parent domains.
    case domainMismatch
    /// The domain is a public suffix such as `com` or `co.uk`.
    case publicSuffix
    /// The cookie is Secure but was not received over https.
    case secureFromPlain
    /// The cookie was not received over https and would shadow a Secure cookie of the same name.
    case overwritesSecure
    /// The attributes required by the name's prefix (`__Secure-`, `__Host-`) are missing, or the value of a cookie
    /// without a name begins with such a prefix.
    case prefix
    /// The cookie has SameSite=None but not Secure.
    case crossSiteNotSecure
    /// The policy accepts only cookies of the site of the call's first URL.
    case thirdParty
    /// The policy accepts no cookies.
    case disabled
    /// The domain has the maximum number of cookies, and all of them are Secure. The rejected cookie is not Secure.
    case noRoom
    /// The login of the request has ended, and its cookies were deleted.
    case loginEnded

    public var description: String {
        switch self {
        case .controlCharacter: "it contains a control character"
        case .separator: "it contains a semicolon, or its name contains an equals sign"
        case .notUTF8: "it is not UTF-8"
        case .empty: "it has neither a name nor a value"
        case .tooLarge: "its name and value are longer than \(Cookie.maximumPair) bytes"
        case .pathTooLong: "its path is longer than \(Cookie.maximumAttribute) bytes"
        case .invalidPath: "its path does not begin with a slash"
        case .domainMismatch: "its domain is invalid, or is neither the host nor a parent domain"
        case .publicSuffix: "its domain is a public suffix"
        case .secureFromPlain: "it is Secure but was not received over https"
        case .overwritesSecure: "it would shadow a Secure cookie but was not received over https"
        case .prefix: "it lacks the attributes that its prefix (__Secure- or __Host-) requires"
        case .crossSiteNotSecure: "it is SameSite=None but not Secure"
        case .thirdParty: "it comes from a third party"
        case .disabled: "cookies are disabled"
        case .noRoom: "its domain has no room for a cookie that is not Secure"
        case .loginEnded: "the login of its request has ended"
        }
    }
}
