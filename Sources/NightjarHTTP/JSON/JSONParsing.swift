import CSimdjson

extension JSONValue {
    /// - Throws: ``ErrorKind/decoding`` with the place of the fault: "expected ',' or '}' at line 3 column 14".
    public init(parsing bytes: UnsafeRawBufferPointer) throws(NightjarError) {
        guard let parser = njs_parser_new() else { throw JSONValue.outOfMemory }
        defer { njs_parser_free(parser) }
        var document = njs_document()
        let text = bytes.assumingMemoryBound(to: CChar.self)
        switch njs_parse(parser, text.baseAddress, bytes.count, &document) {
        case NJS_OK:
            var builder = Builder()
            self = builder.value(of: document)
        case NJS_INVALID:
            throw NightjarError(.decoding, "invalid JSON: \(JSONValue.fault(in: text))")
        case NJS_TOO_LARGE:
            throw NightjarError(.decoding, "a JSON text of \(bytes.count) bytes is larger than 4 GiB")
        default:
            throw JSONValue.outOfMemory
        }
    }

    /// - Throws: as ``init(parsing:)-(UnsafeRawBufferPointer)``.
    public init(parsing text: String) throws(NightjarError) {
        self = try text.withRawBytes { (bytes) throws(NightjarError) in try JSONValue(parsing: bytes) }
    }

    private static let outOfMemory = NightjarError(.decoding, "no memory to parse JSON")

    private static func fault(in text: UnsafeBufferPointer<CChar>) -> String {
        var fault = njs_fault()
        guard njs_locate(text.baseAddress, text.count, &fault) != 0 else { return "refused without a reason" }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(NJS_MESSAGE_MAX)) { buffer in
            let count = njs_fault_message(&fault, buffer.baseAddress, buffer.count)
            return String(decoding: UnsafeRawBufferPointer(buffer).prefix(count), as: UTF8.self)
        }
    }
}

/// Turns a tape into a value without recursion: a text of many brackets must not decide how much stack is used.
private struct Builder {
    /// A container whose end has not come yet.
    private struct Open {
        var isObject: Bool
        var name: String?
        var elements: [JSONValue] = []
        var members: [JSONValue.Member] = []

        mutating func append(_ value: JSONValue) {
            if isObject {
                members.append(JSONValue.Member(name ?? "", value))
                name = nil
            } else {
                elements.append(value)
            }
        }

        var value: JSONValue { isObject ? .object(members) : .array(elements) }
    }

    private var open: [Open] = []
    private var root = JSONValue.null

    mutating func value(of document: njs_document) -> JSONValue {
        let tape = UnsafeBufferPointer(start: document.tape, count: document.tape_length)
        var index = 1
        while index < tape.count - 1 {
            let word = tape[index]
            index += 1
            switch UInt8(truncatingIfNeeded: word >> 56) {
            case UInt8(ascii: "{"): begin(isObject: true, count: Int(njs_count(word)))
            case UInt8(ascii: "["): begin(isObject: false, count: Int(njs_count(word)))
            case UInt8(ascii: "}"), UInt8(ascii: "]"): end()
            case UInt8(ascii: "\""): take(string: document, word)
            case UInt8(ascii: "l"):
                take(.integer(Int64(bitPattern: tape[index])))
                index += 1
            case UInt8(ascii: "u"):
                take(.unsigned(tape[index]))
                index += 1
            case UInt8(ascii: "d"):
                take(.number(Double(bitPattern: tape[index])))
                index += 1
            case UInt8(ascii: "t"): take(.bool(true))
            case UInt8(ascii: "f"): take(.bool(false))
            default: take(.null)
            }
        }
        return root
    }

    private mutating func begin(isObject: Bool, count: Int) {
        var container = Open(isObject: isObject)
        if isObject { container.members.reserveCapacity(count) } else { container.elements.reserveCapacity(count) }
        open.append(container)
    }

    private mutating func end() {
        guard let container = open.popLast() else { return }
        take(container.value)
    }

    private mutating func take(string document: njs_document, _ word: UInt64) {
        var length = 0
        let text = withUnsafePointer(to: document) { document in
            let bytes = njs_string(document, word, &length)
            return String(decoding: UnsafeRawBufferPointer(start: bytes, count: length), as: UTF8.self)
        }
        if let last = open.indices.last, open[last].isObject, open[last].name == nil {
            open[last].name = text
        } else {
            take(.string(text))
        }
    }

    private mutating func take(_ value: JSONValue) {
        if let last = open.indices.last {
            open[last].append(value)
        } else {
            root = value
        }
    }
}
