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

    /// The maximum number of origins listed in a message.
    private static let maximumShown = 8
}

extension SecurityRequirement {
    /// `scope-token`.
    static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
