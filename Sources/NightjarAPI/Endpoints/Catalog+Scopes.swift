extension Catalog {
    /// Returns the OAuth 2.0 scopes that the operations require of this scheme, in order, without duplicates. Returns
    /// at most ``maximumScopes`` + 1 scopes.
    ///
    /// Names that are not valid scopes (RFC 6749 section 3.3) are omitted.
    public func scopes(of scheme: String) -> [String] {
        var scopes: [String] = []
        var known = ExactSet()
        // Many operations share one list, which is processed only once.
        var seen: Set<UnsafeRawPointer> = []
        for operation in operations {
            guard let ways = operation.security,
                let place = ways.withUnsafeBytes(\.baseAddress), seen.insert(place).inserted
            else { continue }
            for use in ways.lazy.flatMap(\.schemes) where use.name.isExactly(scheme) {
                for scope in use.scopes where SecurityRequirement.isScope(scope) && known.insert(scope) {
                    scopes.append(scope)
                    if scopes.count > Catalog.maximumScopes { return scopes }
                }
            }
        }
        return scopes
    }

    /// The maximum number of scopes that a login requests. The scopes are part of a URL. Google's largest services have
    /// about forty, GitHub thirty.
    public static let maximumScopes = 200
}
