import NIOCore

extension JSONValue {
    /// The value as a JSON text without white space, members in their order. RFC 8259.
    ///
    /// Integers and doubles are written so that they are read back as they were.
    ///
    /// - Throws: `invalid_request` for a number that JSON has no word for, with its place.
    public func encoded() throws(NightjarError) -> ByteBuffer {
        var writer = JSONWriter()
        try writer.write(self)
        return writer.buffer
    }
}

/// Writes JSON. A loop: how deep a value nests must not decide how much of the host's stack is used.
private struct JSONWriter {
    /// A container of which `next` elements have been written.
    private enum Open {
        case array([JSONValue], next: Int)
        case object([JSONValue.Member], next: Int)
    }

    private(set) var buffer = ByteBuffer()
    private var open: [Open] = []

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

    /// Writes a scalar, or the beginning of a container.
    private mutating func begin(_ value: JSONValue) throws(NightjarError) {
        switch value {
        case .null: buffer.writeStaticString("null")
        case .bool(let flag): buffer.writeStaticString(flag ? "true" : "false")
        case .integer(let number): buffer.writeString(String(number))
        case .unsigned(let number): buffer.writeString(String(number))
        case .number(let number):
            guard number.isFinite else {
                let place = path.isEmpty ? "" : " at \(quoted(path, limit: 300))"
                throw NightjarError(.invalidRequest, "the JSON\(place) holds \(number), which no JSON number is")
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

    /// Of the value that is being written.
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
