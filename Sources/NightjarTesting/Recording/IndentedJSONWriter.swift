import NIOCore
import NightjarHTTP

/// Writes indented JSON: one member or element per line, and a list of up to four short scalars on one line.
///
/// The size of the text is bounded. Indentation grows with the depth and could expand nested arrays of a few megabytes
/// to gigabytes. A value inside `partLevel` containers is therefore indented only if the white space takes at most
/// ``maximumGrowth`` times its compact size plus ``leastSpace`` bytes. Otherwise, the value is written on one line.
///
/// The writer is iterative, so that a deeply nested value cannot exhaust the stack.
struct IndentedJSONWriter {
    /// A container of which `next` elements or members have been written.
    private struct Open {
        let value: JSONValue
        var next = 0
    }

    private(set) var text = ByteBuffer()
    private var open: [Open] = []
    private let partLevel: Int
    private let maximumSize: Int

    /// - Parameters:
    ///   - partLevel: the number of containers around each value whose growth is bounded.
    ///   - maximumSize: the maximum size of the whole text in bytes.
    init(partLevel: Int, maximumSize: Int) {
        self.partLevel = partLevel
        self.maximumSize = maximumSize
    }

    /// The maximum white space of a part, in bytes for each byte of its compact form. API responses typically need one
    /// to two.
    private static let maximumGrowth = 4
    /// The white space in bytes that every part may have, so that small parts stay legible at any depth.
    private static let leastSpace = 1024

    /// Writes a value.
    ///
    /// - Throws: `invalid_request` for a number that JSON cannot represent; `too_large` beyond the maximum size.
    mutating func write(_ value: JSONValue) throws(NightjarError) {
        try begin(value)
        while let last = open.last {
            guard last.next < last.value.childCount else {
                open.removeLast()
                startLine()
                text.writeStaticString(last.value.isObject ? "}" : "]")
                continue
            }
            open[open.count - 1].next += 1
            if last.next > 0 { text.writeStaticString(",") }
            startLine()
            switch last.value {
            case .object(let members):
                text.writeJSONString(members[last.next].name)
                text.writeStaticString(": ")
                try begin(members[last.next].value)
            case .array(let elements): try begin(elements[last.next])
            default: break
            }
        }
        text.writeStaticString("\n")
    }

    /// Opens a container that is written on several lines, or writes the whole value on the current line.
    private mutating func begin(_ value: JSONValue) throws(NightjarError) {
        var takesLines = value.takesLines
        if takesLines, open.count == partLevel { takesLines = try isBounded(value) }
        if takesLines {
            text.writeStaticString(value.isObject ? "{" : "[")
            open.append(Open(value: value))
            return
        }
        text.writeImmutableBuffer(try value.encoded())
        guard text.readableBytes <= maximumSize else {
            throw NightjarError(.tooLarge, "writing JSON failed: the text is larger than \(maximumSize) bytes")
        }
    }

    private mutating func startLine() {
        text.writeStaticString("\n")
        for _ in open { text.writeStaticString("  ") }
    }

    /// Returns whether the white space of a part stays within its bound.
    private func isBounded(_ part: JSONValue) throws(NightjarError) -> Bool {
        let compactSize = try part.encoded().readableBytes
        var space = IndentedJSONWriter.leastSpace + IndentedJSONWriter.maximumGrowth * compactSize
        var rest = [(value: part, level: open.count)]
        while let (value, level) = rest.popLast() {
            let line = 1 + 2 * (level + 1) + (value.isObject ? 1 : 0)
            space -= value.childCount * line + 1 + 2 * level
            guard space >= 0 else { return false }
            switch value {
            case .object(let members):
                for member in members where member.value.takesLines { rest.append((member.value, level + 1)) }
            case .array(let elements):
                for element in elements where element.takesLines { rest.append((element, level + 1)) }
            default: break
            }
        }
        return true
    }
}

extension JSONValue {
    fileprivate var isObject: Bool { if case .object = self { true } else { false } }

    fileprivate var childCount: Int {
        switch self {
        case .object(let members): members.count
        case .array(let elements): elements.count
        default: 0
        }
    }

    /// True for a container that is written on several lines. Scalars, empty containers and lists of up to four short
    /// scalars are written on one line.
    fileprivate var takesLines: Bool {
        switch self {
        case .object(let members): !members.isEmpty
        case .array(let elements): elements.count > 4 || !elements.allSatisfy(\.isShortScalar)
        default: false
        }
    }

    private var isShortScalar: Bool {
        switch self {
        case .null, .bool, .integer, .unsigned, .number: true
        case .string(let text): text.utf8.count <= 20
        case .array, .object: false
        }
    }
}
