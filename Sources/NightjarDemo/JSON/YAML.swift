/// Converts a JSON document to YAML 1.2 in block style.
extension JSON {
    /// The document in YAML, with a line break at the end.
    var yaml: String {
        var output = ""
        switch self {
        case .object(let members) where !members.isEmpty: JSON.append(members, indent: 0, to: &output)
        case .array(let values) where !values.isEmpty: JSON.append(values, indent: 0, to: &output)
        default: output = flow + "\n"
        }
        return output
    }

    private static func append(_ members: [Member], indent: Int, to output: inout String) {
        for (index, member) in members.enumerated() {
            // After the dash of a list, the first member needs no indentation.
            if index > 0 || output.isEmpty || output.hasSuffix("\n") { output += String(repeating: " ", count: indent) }
            output += plainOrQuoted(member.name) + ":"
            append(member.value, in: indent, to: &output)
        }
    }

    private static func append(_ values: [JSON], indent: Int, to output: inout String) {
        for value in values {
            output += String(repeating: " ", count: indent) + "-"
            if case .object(let members) = value, !members.isEmpty {
                output += " "
                append(members, indent: indent + 2, to: &output)
            } else {
                append(value, in: indent, to: &output)
            }
        }
    }

    /// Appends the value after a name or a dash, up to the end of its last line.
    private static func append(_ value: JSON, in indent: Int, to output: inout String) {
        switch value {
        case .object(let members) where !members.isEmpty:
            output += "\n"
            append(members, indent: indent + 2, to: &output)
        case .array(let values) where !values.isEmpty:
            output += "\n"
            append(values, indent: indent + 2, to: &output)
        default:
            output += " \(value.flow)\n"
        }
    }

    /// The value on one line. JSON is valid YAML (section 1.3). Simple strings are not quoted, unless they could be
    /// mistaken for another type.
    private var flow: String {
        if case .string(let text) = self { return JSON.plainOrQuoted(text) }
        return String(decoding: formatted(), as: UTF8.self)
    }

    private static func plainOrQuoted(_ text: String) -> String {
        let isPlain =
            text.utf8.first.map { isLetter($0) || $0 == UInt8(ascii: "/") } == true
            && text.utf8.allSatisfy { isLetter($0) || (0x30...0x39).contains($0) || " /._-{}+,;()".utf8.contains($0) }
            && text.utf8.last != UInt8(ascii: " ") && !reserved.contains(text.lowercased())
        return isPlain ? text : String(decoding: JSON.string(text).formatted(), as: UTF8.self)
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }

    /// Words that YAML 1.1 does not read as strings. Many readers still implement YAML 1.1.
    private static let reserved: Set<String> = [
        "null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf",
    ]
}
