/// A mismatch between a document and a ``JSONSchema``, or between a document and the Swift type to decode.
public struct JSONMismatch: Error, Sendable, Equatable, CustomStringConvertible {
    public let path: JSONPointer
    /// For example "a string".
    public let expected: String
    /// For example "an integer". Usually the type, not the value, because the value may be a secret. A scalar that
    /// `enum`, `const` or a discriminator rejects is shown, truncated, unless a member name on the path suggests a
    /// secret.
    public let found: String

    public init(path: JSONPointer, expected: String, found: String) {
        self.path = path
        self.expected = expected
        self.found = found
    }

    /// The message. The path is escaped and truncated, because its member names come from the document.
    public var description: String { JSONMismatch.describe("expected \(expected), found \(found)", at: path) }

    /// The mismatch as an error with the kind `decoding`.
    public var error: NightjarError { NightjarError(.decoding, "the JSON is not as expected: \(self)") }

    static func describe(_ problem: String, at path: JSONPointer) -> String {
        path.tokens.isEmpty ? problem : "at \(quoted(path.description, limit: 300)): \(problem)"
    }
}
