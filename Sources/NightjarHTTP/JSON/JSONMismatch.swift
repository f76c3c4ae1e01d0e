/// Where a document first departs from what was asked of it, by a ``JSONSchema`` or by a type that is decoded.
public struct JSONMismatch: Error, Sendable, Equatable, CustomStringConvertible {
    public let path: JSONPointer
    /// "a string"
    public let expected: String
    /// "an integer": what it is, never its value, which may be a secret; for `enum` in a schema a short one where the
    /// name looks harmless.
    public let found: String

    public init(path: JSONPointer, expected: String, found: String) {
        self.path = path
        self.expected = expected
        self.found = found
    }

    /// Names of members come from the document, so they are escaped and cut.
    public var description: String { JSONMismatch.describe("expected \(expected), found \(found)", at: path) }

    /// As the failure of a call.
    public var error: NightjarError { NightjarError(.decoding, "the JSON is not as expected: \(self)") }

    static func describe(_ problem: String, at path: JSONPointer) -> String {
        path.tokens.isEmpty ? problem : "at \(quoted(path.description, limit: 300)): \(problem)"
    }
}
