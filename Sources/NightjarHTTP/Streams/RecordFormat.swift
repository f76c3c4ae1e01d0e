/// How a body is divided into records.
package enum RecordFormat: Sendable, Equatable {
    /// Lines of text, which end with LF, CR or CRLF.
    case lines
    /// Like ``lines``, but the text may be invalid UTF-8.
    case uncheckedLines
    /// One JSON value on each line, which ends with LF (NDJSON, JSON Lines). Lines without a value are ignored.
    case jsonLines
    /// JSON values, each after a record separator (`application/json-seq`, RFC 7464).
    case jsonSequence

    /// Returns the format of a body of JSON values by its media type. Any other type than `application/json-seq` and
    /// its structured suffix `+json-seq` (RFC 8091) is read as lines, because servers use various types for them.
    package static func json(contentType: String?) -> RecordFormat {
        guard let essence = contentType.flatMap(MediaType.init)?.essence else { return .jsonLines }
        return essence == "application/json-seq" || essence.hasSuffix("+json-seq") ? .jsonSequence : .jsonLines
    }

    /// The Accept field of a request for JSON values.
    package static let acceptsJSON: StaticString =
        "application/x-ndjson, application/jsonl, application/json-seq, application/json;q=0.5, */*;q=0.1"

    /// The name of a record.
    package var noun: String { isText ? "line" : "value" }

    /// Whether records are lines that may end with CR.
    var isText: Bool { self == .lines || self == .uncheckedLines }

    /// The default of the maximum length of a record in bytes.
    package static let defaultMaximumLength = 1 << 20
}
