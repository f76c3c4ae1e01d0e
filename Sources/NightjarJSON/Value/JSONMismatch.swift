/// The first place where a document does not match a ``JSONSchema``, or does not match the Swift type to decode.
package struct JSONMismatch: Error, Sendable, Equatable, CustomStringConvertible {
    package let path: JSONPointer
    /// For example "a string".
    package let expected: String
    /// For example "an integer". Describes the type instead of the value, because the value may be a secret. Exception:
    /// for `enum`, a short value is shown unless the path contains a member name that suggests a secret.
    package let found: String

    package init(path: JSONPointer, expected: String, found: String) {
        self.path = path
        self.expected = expected
        self.found = found
    }

    /// The message. Member names are escaped and truncated, because they come from the document.
    package var description: String { JSONMismatch.describe("expected \(expected), found \(found)", at: path) }

    /// The mismatch as an error with the kind `decoding`.
    package var error: NightjarError { NightjarError(.decoding, "the JSON is not as expected: \(self)") }

    static func describe(_ problem: String, at path: JSONPointer) -> String {
        path.tokens.isEmpty ? problem : "at \(quoted(path.description, limit: 300)): \(problem)"
    }
}
