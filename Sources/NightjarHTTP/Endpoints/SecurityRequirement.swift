/// One way in to an operation: credentials of all these schemes together; of none, it is open. OpenAPI 3.1 section 4.8.30.
public struct SecurityRequirement: Sendable, Equatable {
    public struct Use: Sendable, Equatable {
        /// Of a ``SecurityScheme``.
        public var name: String
        /// What of OAuth 2.0 the operation needs (RFC 6749 section 3.3), or the names of roles.
        public var scopes: [String]

        public init(_ name: String, scopes: [String] = []) {
            self.name = name
            self.scopes = scopes
        }
    }

    public var schemes: [Use]

    public init(_ schemes: [Use] = []) { self.schemes = schemes }

    public init(_ names: String...) { self.init(names.map { Use($0) }) }

    /// Whether there is no way in without credentials: false where all are open, nil where some are.
    public static func requiresAuth(_ ways: [SecurityRequirement]) -> Bool? {
        if ways.allSatisfy(\.schemes.isEmpty) { return false }
        return ways.contains(where: \.schemes.isEmpty) ? nil : true
    }

    /// For messages: `by "a" and "b", or by "c"`.
    public static func text(_ ways: [SecurityRequirement]) -> String {
        let shown = ways.prefix(maximumShown).map { way in
            "by " + way.schemes.prefix(maximumShown).map { quoted($0.name) }.joined(separator: " and ")
        }
        return shown.joined(separator: ", or ")
    }

    /// In a message.
    private static let maximumShown = 8
}

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

extension SecurityRequirement {
    /// `scope-token`.
    static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
