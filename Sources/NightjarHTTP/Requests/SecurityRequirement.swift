/// A security requirement of an operation: credentials of all these schemes together. Without schemes, no credentials
/// are required. OpenAPI 3.1 section 4.8.30.
package struct SecurityRequirement: Sendable, Equatable {
    package struct Use: Sendable, Equatable {
        /// The name of a ``SecurityScheme``.
        package var name: String
        /// The required OAuth 2.0 scopes (RFC 6749 section 3.3), or role names.
        package var scopes: [String]

        package init(_ name: String, scopes: [String] = []) {
            self.name = name
            self.scopes = scopes
        }
    }

    package var schemes: [Use]

    package init(_ schemes: [Use] = []) { self.schemes = schemes }

    package init(_ names: String...) { self.init(names.map { Use($0) }) }

    /// Whether credentials are required: false if every alternative is open, nil if some are.
    package static func requiresAuth(_ ways: [SecurityRequirement]) -> Bool? {
        if ways.allSatisfy(\.schemes.isEmpty) { return false }
        return ways.contains(where: \.schemes.isEmpty) ? nil : true
    }

    /// The alternatives, for messages: `by "a" and "b", or by "c"`.
    package static func text(_ ways: [SecurityRequirement]) -> String {
        let shown = ways.prefix(maximumShown).map { way in
            "by " + way.schemes.prefix(maximumShown).map { quoted($0.name) }.joined(separator: " and ")
        }
        return shown.joined(separator: ", or ")
    }

    /// The maximum number of alternatives, and of schemes in each, in a message.
    private static let maximumShown = 8
}

extension SecurityRequirement {
    /// True for a valid `scope-token`.
    package static func isScope(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
