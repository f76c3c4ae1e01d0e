import NIOCore

/// Reads elements of the XML documents of S3, which have neither attributes nor namespaces within the elements that are
/// read. Never fails: invalid documents have no elements.
struct S3Document {
    private let text: [UInt8]

    init(_ body: ByteBuffer) { text = Array(body.readableBytesView) }

    private init(_ text: [UInt8]) { self.text = text }

    /// Returns the content of the first element with this name, with resolved references.
    func text(of name: String) -> String? {
        first(name, from: 0).map { S3Document.unescaped(text[$0.content]) }
    }

    func contains(_ pattern: String) -> Bool { find(pattern, from: 0) != nil }

    /// Returns the elements with this name.
    func all(_ name: String) -> [S3Document] {
        var elements: [S3Document] = []
        var position = 0
        while let element = first(name, from: position) {
            elements.append(S3Document(Array(text[element.content])))
            position = element.end
        }
        return elements
    }

    private func first(_ name: String, from start: Int) -> (content: Range<Int>, end: Int)? {
        guard let open = find("<\(name)>", from: start), let close = find("</\(name)>", from: open.upperBound) else {
            return nil
        }
        return (open.upperBound..<close.lowerBound, close.upperBound)
    }

    private func find(_ pattern: String, from start: Int) -> Range<Int>? {
        let pattern = Array(pattern.utf8)
        guard let first = pattern.first else { return nil }
        var index = start
        while index + pattern.count <= text.count {
            guard let next = text[index...].firstIndex(of: first), next + pattern.count <= text.count else {
                return nil
            }
            if text[next..<(next + pattern.count)].elementsEqual(pattern) { return next..<(next + pattern.count) }
            index = next + 1
        }
        return nil
    }

    static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        var result = ""
        var rest = text[...]
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            rest = rest[start...]
            guard let end = rest.prefix(12).firstIndex(of: ";"),
                let character = character(rest[rest.index(after: start)..<end])
            else {
                result.append("&")
                rest = rest.dropFirst()
                continue
            }
            result.append(character)
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func character(_ name: Substring) -> Character? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.first == "#" else { return nil }
            let digits = name.dropFirst()
            let code =
                digits.first == "x" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return code.flatMap { Unicode.Scalar($0) }.map { Character($0) }
        }
    }
}
