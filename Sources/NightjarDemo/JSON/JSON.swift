/// A JSON value (RFC 8259) of the demo server. Objects keep the order of their members. Integers have 64 bits.
///
/// Shares only simdjson with the client, because an error in shared code would go unnoticed in tests.
enum JSON: Equatable, Sendable {
    struct Member: Equatable, Sendable {
        let name: String
        let value: JSON
    }

    case null
    case bool(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([Member])

    /// Returns the last member with this name. Nil if there is none or this is not an object.
    subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    static func int(_ value: Int) -> JSON { .integer(Int64(value)) }

    static func optional(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }

    /// The type in error messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .integer, .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }

    /// Applies a JSON Merge Patch (RFC 7396).
    func merging(_ patch: JSON) -> JSON {
        guard case .object(let changes) = patch else { return patch }
        var members: [Member] = if case .object(let own) = self { own } else { [] }
        for change in changes {
            let index = members.firstIndex { $0.name == change.name }
            if case .null = change.value {
                if let index { members.remove(at: index) }
            } else {
                let current = index.map { members[$0].value } ?? .null
                let merged = Member(name: change.name, value: current.merging(change.value))
                if let index { members[index] = merged } else { members.append(merged) }
            }
        }
        return .object(members)
    }
}

extension JSON: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral {
    init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(name: $0.0, value: $0.1) })
    }

    init(arrayLiteral elements: JSON...) {
        self = .array(elements)
    }

    init(stringLiteral value: String) {
        self = .string(value)
    }
}

// MARK: Formatting

extension JSON {
    /// The document as compact JSON in UTF-8.
    func formatted() -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(256)
        append(to: &output)
        return output
    }

    private func append(to output: inout [UInt8]) {
        switch self {
        case .null: output += "null".utf8
        case .bool(let value): output += (value ? "true" : "false").utf8
        case .integer(let value): output += value.description.utf8
        case .number(let value): output += (value.isFinite ? value.description : "null").utf8
        case .string(let value): JSON.append(quoted: value, to: &output)
        case .array(let values):
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                value.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                JSON.append(quoted: member.name, to: &output)
                output.append(UInt8(ascii: ":"))
                member.value.append(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    private static func append(quoted text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): output += "\\\"".utf8
            case UInt8(ascii: "\\"): output += "\\\\".utf8
            case 0x08: output += "\\b".utf8
            case 0x09: output += "\\t".utf8
            case 0x0A: output += "\\n".utf8
            case 0x0C: output += "\\f".utf8
            case 0x0D: output += "\\r".utf8
            case 0..<0x20:
                output += "\\u00".utf8
                output.append(hexDigits[Int(byte >> 4)])
                output.append(hexDigits[Int(byte & 15)])
            default: output.append(byte)
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static let hexDigits = Array("0123456789abcdef".utf8)
}
