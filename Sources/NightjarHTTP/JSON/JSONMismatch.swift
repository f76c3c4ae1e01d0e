/// The first mismatch of a document with a ``JSONSchema`` or a decoded type.
public struct JSONMismatch: Error, Sendable, Equatable, CustomStringConvertible {
    public let path: JSONPointer
    /// What was expected: "a string".
    public let expected: String
    /// What was found: "an integer". The type only, because the value may be a secret. For `enum` in a schema, a short
    /// value is shown if its name is not that of a secret.
    public let found: String

    public init(path: JSONPointer, expected: String, found: String) {
        self.path = path
        self.expected = expected
        self.found = found
    }

    /// The message. Member names come from the document, so they are escaped and truncated.
    public var description: String { JSONMismatch.describe("expected \(expected), found \(found)", at: path) }

    /// The mismatch as an error.
    public var error: NightjarError { NightjarError(.decoding, "the JSON is not as expected: \(self)") }

    static func describe(_ problem: String, at path: JSONPointer) -> String {
        path.tokens.isEmpty ? problem : "at \(quoted(path.description, limit: 300)): \(problem)"
    }
}
