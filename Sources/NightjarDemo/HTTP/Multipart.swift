import NightjarSystem

/// Parses `multipart/form-data` (RFC 7578, RFC 2046 section 5.1) incrementally. Buffers at most a delimiter and a part
/// head. Strict, so that tests notice errors of the client.
///
///     preamble ──delimiter──▶ head ──empty line──▶ content ──delimiter──▶ head ...
///                                                     └──────closing delimiter──────▶ epilogue
struct MultipartParser {
    struct Fault: Error {
        let reason: String
    }

    struct Head {
        let name: String
        let filename: String?
        let contentType: String?
        /// All fields with their names as received.
        let fields: [(name: String, value: String)]
    }

    enum Event {
        case head(Head)
        case content(ArraySlice<UInt8>)
        case end
    }

    private enum State {
        case preamble
        /// After a delimiter. CRLF or two hyphens must follow.
        case delimited
        case head
        case content
        case epilogue
    }

    /// The maximum size of the head of a part in bytes.
    private static let headLimit = 16 * 1024
    private static let partLimit = 10_000

    private let delimiter: [UInt8]
    private var state = State.preamble
    private var pending: [UInt8]
    private var parts = 0

    /// - Parameter boundary: 1 to 70 bytes.
    init(boundary: String) {
        delimiter = Array("\r\n--\(boundary)".utf8)
        // The first delimiter has no preceding CRLF. The CRLF added here lets the parser find it like the other
        // delimiters.
        pending = [0x0D, 0x0A]
    }

    /// True if the closing delimiter has been received.
    var isComplete: Bool { if case .epilogue = state { true } else { false } }

    mutating func parse(_ bytes: some Sequence<UInt8>, _ handle: (Event) throws(Fault) -> Void) throws(Fault) {
        pending += bytes
        while try step(handle) {}
    }

    /// - Returns: false if more bytes are needed.
    private mutating func step(_ handle: (Event) throws(Fault) -> Void) throws(Fault) -> Bool {
        switch state {
        case .preamble:
            guard let start = find(delimiter) else {
                drop(max(0, pending.count - (delimiter.count - 1)))
                return false
            }
            drop(start + delimiter.count)
            state = .delimited
        case .delimited:
            guard pending.count >= 2 else { return false }
            switch (pending[0], pending[1]) {
            case (0x0D, 0x0A):
                parts += 1
                guard parts <= MultipartParser.partLimit else { throw Fault(reason: "there are too many parts") }
                drop(2)
                state = .head
            case (0x2D, 0x2D):
                state = .epilogue
            default:
                throw Fault(reason: "a delimiter is followed by neither CRLF nor \"--\"")
            }
        case .head:
            guard let end = find([0x0D, 0x0A, 0x0D, 0x0A]), end <= MultipartParser.headLimit else {
                guard pending.count <= MultipartParser.headLimit else {
                    throw Fault(reason: "the head of a part is larger than \(MultipartParser.headLimit) bytes")
                }
                return false
            }
            let head = try Head(pending[..<end])
            drop(end + 4)
            state = .content
            try handle(.head(head))
        case .content:
            guard let start = find(delimiter) else {
                let complete = pending.count - (delimiter.count - 1)
                if complete > 0 {
                    try handle(.content(pending[..<complete]))
                    drop(complete)
                }
                return false
            }
            if start > 0 { try handle(.content(pending[..<start])) }
            drop(start + delimiter.count)
            state = .delimited
            try handle(.end)
        case .epilogue:
            pending.removeAll()
            return false
        }
        return true
    }

    private func find(_ mark: [UInt8]) -> Int? {
        guard let first = mark.first else { return nil }
        return pending.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var start = 0
            while bytes.count - start >= mark.count {
                guard let found = memchr(base + start, Int32(first), bytes.count - start) else { return nil }
                start = UnsafeRawPointer(found) - base
                guard bytes.count - start >= mark.count else { return nil }
                if memcmp(base + start, mark, mark.count) == 0 { return start }
                start += 1
            }
            return nil
        }
    }

    private mutating func drop(_ count: Int) {
        pending.removeFirst(count)
    }
}

extension MultipartParser.Head {
    /// - Parameter bytes: field lines separated by CRLF.
    fileprivate init(_ bytes: ArraySlice<UInt8>) throws(MultipartParser.Fault) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw MultipartParser.Fault(reason: "the head of a part is not UTF-8")
        }
        var fields: [(name: String, value: String)] = []
        for line in text.split(separator: "\r\n", omittingEmptySubsequences: false) {
            guard let colon = line.firstIndex(of: ":") else {
                throw MultipartParser.Fault(reason: "a line in the head of a part has no colon")
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append((String(line[..<colon]), String(value)))
        }
        let dispositions = fields.filter { $0.name.lowercased() == "content-disposition" }
        guard dispositions.count == 1, let disposition = FieldParameters(dispositions[0].value) else {
            throw MultipartParser.Fault(reason: "a part must have exactly one valid Content-Disposition")
        }
        guard disposition.value.lowercased() == "form-data", let name = disposition["name"] else {
            throw MultipartParser.Fault(reason: "the Content-Disposition of a part must be form-data and have a name")
        }
        self.name = name
        filename = disposition["filename"]
        contentType = fields.first { $0.name.lowercased() == "content-type" }?.value
        self.fields = fields
    }
}

/// A field value with parameters: `form-data; name="a"` (RFC 9110 section 5.6.6).
struct FieldParameters {
    let value: String
    private var parameters: [(name: String, value: String)] = []

    /// Nil if the syntax is invalid.
    init?(_ text: String) {
        var rest = text[...]
        value = String(rest.prefix { $0 != ";" && $0 != " " && $0 != "\t" })
        rest = rest.dropFirst(value.count)
        guard !value.isEmpty else { return nil }
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            if rest.isEmpty { return }
            guard rest.removeFirst() == ";" else { return nil }
            rest = rest.drop { $0 == " " || $0 == "\t" }
            let name = rest.prefix { $0 != "=" && $0 != ";" }
            if name.isEmpty, rest.isEmpty { return }
            rest = rest.dropFirst(name.count)
            guard !name.isEmpty, rest.popFirst() == "=" else { return nil }
            guard let value = FieldParameters.takeValue(&rest, until: ";") else { return nil }
            parameters.append((name.lowercased(), value))
        }
    }

    /// Returns the first parameter with this name. The name must be in lower case.
    subscript(_ name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// Removes a token or a quoted string from the front of `rest` and returns its value. Returns nil if there is none.
    static func takeValue(_ rest: inout Substring, until separator: Character) -> String? {
        guard rest.first == "\"" else {
            let token = rest.prefix { $0 != separator && $0 != " " && $0 != "\t" }
            rest = rest.dropFirst(token.count)
            return token.isEmpty ? nil : String(token)
        }
        rest.removeFirst()
        var value = ""
        while let character = rest.popFirst() {
            switch character {
            case "\"": return value
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                value.append(escaped)
            default: value.append(character)
            }
        }
        return nil
    }
}
