extension Catalog {
    /// What its operations ask of OAuth 2.0 by this scheme, all together, each once and in their order; at most
    /// ``maximumScopes`` and one more.
    ///
    /// What is no scope by RFC 6749 section 3.3 is left out.
    public func scopes(of scheme: String) -> [String] {
        var scopes: [String] = []
        var known = ExactSet()
        // Operations of a document share one list: it is gone through once.
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

    /// Scopes that are asked for. Google's largest services have some forty, GitHub thirty; they stand in a URL.
    public static let maximumScopes = 200
}
