import NightjarHTTP

/// The content of an upload that is given in the options: `body`, `json` or `form`.
package struct TransferBody {
    let bytes: [UInt8]
    /// The media type. Nil: that of the upload.
    let type: String?

    static let options = ["body", "json", "form"]

    /// Nil if the options have no content.
    ///
    /// - Throws: `invalid_argument` for several contents, and for an invalid one.
    init?(_ options: JSONValue) throws(NightjarError) {
        let given = TransferBody.options.filter { options[$0] != nil }
        guard let name = given.first, let value = options[name] else { return nil }
        guard given.count == 1 else {
            throw NightjarError(
                .invalidArgument, "only one of the options \(given.joined(separator: " and ")) can be used")
        }
        switch name {
        case "body":
            guard case .string(let text) = value else { throw .mismatch(name, expected: "a text", value) }
            (bytes, type) = (Array(text.utf8), nil)
        case "json": (bytes, type) = (Array(try value.encoded().readableBytesView), "application/json")
        default:
            guard case .object(let members) = value else { throw .mismatch(name, expected: "an object", value) }
            var pairs: [(name: String, value: String)] = []
            for member in members {
                let items = if case .array(let items) = member.value { items } else { [member.value] }
                for item in items { pairs.append((member.name, try TransferBody.text(item, "form.\(member.name)"))) }
            }
            (bytes, type) = (Array(FormEncoding.encode(pairs).readableBytesView), FormEncoding.contentType)
        }
    }

    private static func text(_ value: JSONValue, _ path: String) throws(NightjarError) -> String {
        switch value {
        case .string(let text): return text
        case .integer, .unsigned, .number, .bool: return String(buffer: try value.encoded())
        default: throw .mismatch(path, expected: "a text, a number, true, false, or an array of them", value)
        }
    }
}
