import NIOCore

/// The error description in the body of a response.
///
/// Recognized formats are RFC 9457 problem details, OAuth errors (RFC 6749 section 5.2), common JSON shapes
/// (`{"error": "..."}`, `{"error": {...}}`, `{"message": ...}`, `{"errors": [...]}`, AWS's `__type`, Matrix's
/// `errcode`), XML error documents (`ErrorMarkup`) and plain text.
///
/// Texts are truncated but not escaped. The message for a field whose name suggests a secret is `***`, because some
/// servers repeat the values they received.
public struct ErrorBody: Sendable, Equatable {
    /// The error message for one field of the request.
    public struct Field: Sendable, Equatable {
        /// The field's name as the server writes it: `email`, `/data/attributes/title`, `body.title`. Nil if the
        /// message concerns the whole request.
        public let name: String?
        public let message: String

        public init(_ name: String?, _ message: String) {
            self.name = name
            self.message = message
        }
    }

    /// The error type: a URI such as `https://example.com/probs/out-of-credit`, or a server-defined word such as
    /// `invalid_request_error`.
    public internal(set) var type: String?
    /// A short summary of the kind of problem.
    public internal(set) var title: String?
    public internal(set) var message: String?
    /// The details of this occurrence.
    public internal(set) var detail: String?
    /// A machine-readable error code. Integers are converted to decimal digits.
    public internal(set) var code: String?
    /// The validation messages for individual fields of the request.
    public internal(set) var fields: [Field] = []

    /// The maximum length of a text in code points. A longer text is truncated.
    static let maximumText = 1000
    static let maximumFields = 32
    /// The maximum size in bytes of a body that is parsed. A larger body is not treated as an error description.
    static let maximumBody = 256 * 1024

    /// Reads a body. Returns nil if the body is neither JSON nor XML, is larger than `maximumBody` or contains no
    /// recognized member.
    public init?(parsing body: ByteBuffer) {
        let parsed = body.withUnsafeReadableBytes { bytes -> ErrorBody? in
            guard bytes.count <= ErrorBody.maximumBody else { return nil }
            let content = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes.dropFirst(3) : bytes[...]
            guard let first = content.first(where: { !ASCII.isWhitespace($0) }) else { return nil }
            guard first != UInt8(ascii: "<") else {
                return ErrorBody(markup: UnsafeRawBufferPointer(rebasing: content))
            }
            return (try? JSONValue(parsing: bytes)).flatMap { ErrorBody($0) }
        }
        guard let parsed else { return nil }
        self = parsed
    }

    public init?(_ document: JSONValue) {
        read(document)
        guard self != ErrorBody() else { return nil }
    }

    init() {}

    /// Returns the title, message, details, code and up to three field messages as one text. Omits repeated texts and
    /// a title that equals `reason`, the reason phrase of the status line. Returns the type if there is nothing else.
    ///
    /// The text comes from the server and is not escaped. Escape it before printing.
    public func summary(excluding reason: String) -> String {
        var parts: [String] = []
        let isRepeated = title.map { ASCII.equalIgnoringCase($0.utf8, reason.utf8) } ?? false
        for part in [isRepeated ? nil : title, message, detail] {
            if let part, !parts.contains(part) { parts.append(part) }
        }
        var text = parts.first ?? ""
        for part in parts.dropFirst() {
            // Some titles are whole sentences.
            let isSentence = text.utf8.last.map { ".!?:".utf8.contains($0) } ?? true
            text += (isSentence ? " " : ": ") + part
        }
        if let code, code != text { text += text.isEmpty ? code : " (\(code))" }
        let fields = fields.filter { $0.name != nil || !parts.contains($0.message) }
        let messages = fields.prefix(3).map { field in (field.name.map { "\($0): " } ?? "") + field.message }
        if !messages.isEmpty { text += (text.isEmpty ? "" : "; ") + messages.joined(separator: ", ") }
        if fields.count > messages.count { text += ", and \(fields.count - messages.count) more" }
        return text.isEmpty ? type ?? "" : text
    }

    // MARK: Reading

    private mutating func read(_ document: JSONValue) {
        switch document {
        case .string: message = ErrorBody.text(document)
        case .array(let elements): readList(elements)
        case .object:
            readObject(document)
            readError(document)
        default: break
        }
    }

    private mutating func readObject(_ object: JSONValue) {
        func first(_ names: [String]) -> String? { names.lazy.compactMap { ErrorBody.text(object[$0]) }.first }
        type = type ?? first(["type"])
        title = title ?? first(["title"])
        detail = detail ?? first(["detail", "details", "description", "error_description"])
        message = message ?? first(["message", "msg", "error_message", "errorMessage", "Message"])
        code = code ?? first(["code", "error_code", "errorCode", "errcode", "Code"])
        // Google sends a word in `status`. Other servers repeat the HTTP status code, which is ignored.
        code = code ?? ErrorBody.awsCode(object["__type"]) ?? ErrorBody.word(object["status"])
        for name in ["errors", "invalid-params", "invalid_params", "detail", "details", "message"] {
            switch object[name] {
            case .array(let elements): readList(elements)
            case .object(let members): readMap(members)
            default: break
            }
        }
    }

    /// Reads the `error` member: an object, a list or a text. Depending on the other members, a text is the code, the
    /// message or the title.
    private mutating func readError(_ object: JSONValue) {
        guard let error = object["error"] else { return }
        switch error {
        case .object: readObject(error)
        case .array(let elements): readList(elements)
        default:
            let text = ErrorBody.text(error)
            if object["error_description"] != nil {
                // RFC 6749 section 5.2.
                code = text ?? code
            } else if message == nil {
                message = text
            } else if title == nil {
                title = text
            }
        }
    }

    private mutating func readList(_ elements: [JSONValue]) {
        for element in elements {
            guard fields.count < ErrorBody.maximumFields else { return }
            let messageNames = ["message", "detail", "msg", "reason", "description", "title"]
            guard
                let text = ErrorBody.text(element)
                    ?? messageNames.lazy.compactMap({ ErrorBody.text(element[$0]) }).first
            else { continue }
            add(ErrorBody.name(of: element), text)
            code =
                code ?? ErrorBody.text(element["code"]) ?? ErrorBody.text(element["errorCode"])
                ?? ErrorBody.text(element["extensions"]?["code"])
        }
        if message == nil, detail == nil { message = fields.first { $0.name == nil }?.message }
    }

    /// Reads field messages by name: `{"email": ["is taken", "is too long"]}`.
    private mutating func readMap(_ members: [JSONValue.Member]) {
        for member in members {
            let texts: [JSONValue] = if case .array(let elements) = member.value { elements } else { [member.value] }
            for text in texts {
                guard fields.count < ErrorBody.maximumFields else { return }
                guard let text = ErrorBody.text(text) ?? ErrorBody.text(text["message"]) else { continue }
                add(ErrorBody.text(.string(member.name)), text)
            }
        }
    }

    mutating func add(_ name: String?, _ message: String) {
        fields.append(Field(name, name.map(ErrorBody.isSecret) ?? false ? "***" : message))
    }

    /// Returns the name of the request field to which an element of an error list refers.
    private static func name(of element: JSONValue) -> String? {
        for name in ["field", "name", "param", "parameter", "property", "path", "pointer", "loc", "source"] {
            switch element[name] {
            case .string, .integer: return text(element[name])
            case .array(let steps):
                let path = steps.prefix(16).compactMap(text).joined(separator: ".")
                if !path.isEmpty { return text(.string(path)) }
            case .object:
                if let inner = text(element[name]?["pointer"]) ?? text(element[name]?["parameter"]) { return inner }
            default: break
            }
        }
        return nil
    }

    private static func isSecret(_ name: String) -> Bool {
        SecretNames.isSecret(item: name[...].utf8)
            || name.utf8.split { "/.[]".utf8.contains($0) }.contains { SecretNames.isSecret(item: $0) }
    }

    /// Returns a non-blank string, truncated to ``maximumText`` code points, or an integer as decimal digits. Returns
    /// nil for other values.
    static func text(_ value: JSONValue?) -> String? {
        switch value {
        case .integer(let number): return String(number)
        case .string(let text):
            guard text.utf8.contains(where: { !ASCII.isWhitespace($0) }) else { return nil }
            guard text.utf8.count > maximumText, text.unicodeScalars.count > maximumText else { return text }
            return String(String.UnicodeScalarView(text.unicodeScalars.prefix(maximumText))) + "..."
        default: return nil
        }
    }

    private static func word(_ value: JSONValue?) -> String? {
        guard case .string(let text) = value, text.utf8.first.map({ !ASCII.isDigit($0) }) ?? false else { return nil }
        return self.text(value)
    }
}
