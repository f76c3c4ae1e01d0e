import NightjarCrypto
import NightjarHTTP

/// The content of an upload that is given in the options: `body`, `body_base64`, `json`, `form` or `multipart`.
package struct TransferBody {
    private enum Content {
        case bytes([UInt8])
        case multipart(TransferForm)
    }

    private let content: Content
    /// The media type. Nil: that of the upload.
    let type: String?

    static let options = ["body", "body_base64", "json", "form", "multipart"]

    /// Nil if the options have no content.
    ///
    /// - Throws: `invalid_argument` for several contents, and for an invalid one; `invalid_request` if a file of a form
    ///   cannot be read.
    init?(_ options: JSONValue) throws(NightjarError) {
        let given = TransferBody.options.filter { options[$0] != nil }
        guard let name = given.first, let value = options[name] else { return nil }
        guard given.count == 1 else {
            throw NightjarError(
                .invalidArgument, "only one of the options \(given.joined(separator: " and ")) can be used")
        }
        switch name {
        case "body": (content, type) = (.bytes(Array(try value.text(name).utf8)), nil)
        case "body_base64": (content, type) = (.bytes(Array(try value.base64(name).readableBytesView)), nil)
        case "json": (content, type) = (.bytes(Array(try value.encoded().readableBytesView)), "application/json")
        case "form":
            guard case .object(let members) = value else { throw .mismatch(name, expected: "an object", value) }
            var pairs: [(name: String, value: String)] = []
            for member in members {
                let items = if case .array(let items) = member.value { items } else { [member.value] }
                for item in items { pairs.append((member.name, try item.formText("form.\(member.name)"))) }
            }
            content = .bytes(Array(FormEncoding.encode(pairs).readableBytesView))
            type = FormEncoding.contentType
        default:
            let form = try TransferForm(value, name)
            (content, type) = (.multipart(form), form.type)
        }
    }

    /// Equal contents have equal digests, and different contents have different ones.
    var digest: [UInt8] {
        switch content {
        case .bytes(let bytes): Digest.sha256([0] + bytes)
        case .multipart(let form): Digest.sha256([1] + form.digest)
        }
    }

    /// Writes the content.
    ///
    /// - Throws: `content_changed` if a file of a form was changed meanwhile; `invalid_request` if it cannot be read; the
    ///   errors of `write`.
    func write(to write: ([UInt8]) throws(NightjarError) -> Void) throws(NightjarError) {
        switch content {
        case .bytes(let bytes): try write(bytes)
        case .multipart(let form): try form.write(to: write)
        }
    }
}

extension JSONValue {
    /// Reads a value of a form.
    func formText(_ path: String) throws(NightjarError) -> String {
        switch self {
        case .string(let text): return text
        case .integer, .unsigned, .number, .bool: return String(buffer: try encoded())
        default: throw .mismatch(path, expected: "a string, a number, true or false", self)
        }
    }
}
