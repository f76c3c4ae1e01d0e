import NIOCore

extension JSONValue {
    /// Encodes the value as a JSON text without white space. Members keep their order. RFC 8259.
    ///
    /// Parsing the text returns exactly the same numbers.
    ///
    /// - Throws: `invalid_request` with the path if a number is infinite or NaN.
    public func encoded() throws(NightjarError) -> ByteBuffer {
        var writer = JSONWriter()
        try writer.write(self)
        return writer.buffer
    }

    /// The value as JSON without white space. Numbers that JSON cannot represent are written as in Swift.
    var displayText: ByteBuffer {
        var writer = JSONWriter(acceptsAnyNumber: true)
        try? writer.write(self)
        return writer.buffer
    }
}

/// Writes JSON. The writer is iterative, so a deeply nested value cannot exhaust the host's stack.
private struct JSONWriter {
    /// An open container. `next` is the index of the next element or member to write.
    private enum Open {
        case array([JSONValue], next: Int)
        case object([JSONValue.Member], next: Int)
    }

    private(set) var buffer = ByteBuffer()
    /// True if numbers that JSON cannot represent are written, too.
    private let acceptsAnyNumber: Bool
    private var open: [Open] = []

    init(acceptsAnyNumber: Bool = false) { self.acceptsAnyNumber = acceptsAnyNumber }

    mutating func write(_ value: JSONValue) throws(NightjarError) {
        try begin(value)
        while let container = open.popLast() {
            switch container {
            case .array(let elements, let next):
                guard next < elements.count else {
                    buffer.writeStaticString("]")
                    continue
                }
                if next > 0 { buffer.writeStaticString(",") }
                open.append(.array(elements, next: next + 1))
                try begin(elements[next])
            case .object(let members, let next):
                guard next < members.count else {
                    buffer.writeStaticString("}")
                    continue
                }
                if next > 0 { buffer.writeStaticString(",") }
                open.append(.object(members, next: next + 1))
                buffer.writeJSONString(members[next].name)
                buffer.writeStaticString(":")
                try begin(members[next].value)
            }
        }
    }

    /// Writes a scalar, or opens a container.
    private mutating func begin(_ value: JSONValue) throws(NightjarError) {
        switch value {
        case .null: buffer.writeStaticString("null")
        case .bool(let flag): buffer.writeStaticString(flag ? "true" : "false")
        case .integer(let number): buffer.writeString(String(number))
        case .unsigned(let number): buffer.writeString(String(number))
        case .number(let number):
            guard number.isFinite || acceptsAnyNumber else {
                let place = path.isEmpty ? "" : " at \(quoted(path, limit: 300))"
                throw NightjarError(.invalidRequest, "the value\(place) is \(number), which JSON cannot represent")
            }
            buffer.writeString(String(number))
        case .string(let text): buffer.writeJSONString(text)
        case .array(let elements):
            buffer.writeStaticString("[")
            open.append(.array(elements, next: 0))
        case .object(let members):
            buffer.writeStaticString("{")
            open.append(.object(members, next: 0))
        }
    }

    /// The path of the value being written.
    private var path: String {
        let tokens = open.map { container in
            switch container {
            case .array(_, let next): String(next - 1)
            case .object(let members, let next): members[next - 1].name
            }
        }
        return JSONPointer(tokens: tokens).description
    }
}
