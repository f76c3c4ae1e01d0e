/// A security requirement of an operation: the credentials of all ``schemes`` together. If there are no schemes, no
/// credentials are required. OpenAPI 3.1 section 4.8.30.
public struct SecurityRequirement: Sendable, Equatable {
    public struct Use: Sendable, Equatable {
        /// The name of a security scheme.
        public var name: String
        /// The required OAuth 2.0 scopes (RFC 6749 section 3.3), or role names.
        public var scopes: [String]

        public init(_ name: String, scopes: [String] = []) {
            self.name = name
            self.scopes = scopes
        }
    }

    public var schemes: [Use]

    public init(_ schemes: [Use] = []) { self.schemes = schemes }

    public init(_ names: String...) { self.init(names.map { Use($0) }) }

    /// Returns true if all alternatives require credentials, false if none does, and nil if credentials are optional.
    public static func requiresAuth(_ alternatives: [SecurityRequirement]) -> Bool? {
        if alternatives.allSatisfy(\.schemes.isEmpty) { return false }
        return alternatives.contains(where: \.schemes.isEmpty) ? nil : true
    }

    /// Formats the alternatives for messages: `by "a" and "b", or by "c"`.
    public static func text(_ alternatives: [SecurityRequirement]) -> String {
        let shown = alternatives.prefix(maximumShown).map { alternative in
            "by " + alternative.schemes.prefix(maximumShown).map { quoted($0.name) }.joined(separator: " and ")
        }
        return shown.joined(separator: ", or ")
    }

    /// The maximum number of alternatives, and of schemes in each alternative, in a message.
    private static let maximumShown = 8
}

extension SecurityRequirement {
    /// Returns true for a valid `scope-token`. RFC 6749 section 3.3.
    package static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
