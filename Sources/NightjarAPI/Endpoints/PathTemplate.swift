/// The path of an operation with parameters in braces: `/{owner}/{repo}.{format}`. OpenAPI 3.1 section 4.8.8.
///
/// Braces contain a name and nothing else. An unclosed brace is literal text. The part after `?` is the query. The part
/// after `#` is dropped, because it is never sent.
struct PathTemplate {
    enum Part: Equatable {
        case text(String)
        case parameter(String)
    }

    /// The path segments without slashes.
    private(set) var segments: [[Part]] = [[]]
    /// The query after the question mark. Nil if there is none.
    private(set) var query: String?

    /// Parses bytes instead of characters, as for URLs: a slash followed by a combining mark is a slash.
    init(_ template: String) {
        var rest = template.utf8[...]
        var text: [UInt8] = []
        // False after an unclosed brace, because no closing brace can follow.
        var mayClose = true
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "{"):
                if mayClose, let end = rest.firstIndex(of: UInt8(ascii: "}")) {
                    append(&text)
                    let name = rest[..<end].dropFirst()
                    segments[segments.count - 1].append(.parameter(String(decoding: name, as: UTF8.self)))
                    rest = rest[end...].dropFirst()
                    continue
                }
                mayClose = false
                text.append(byte)
            case UInt8(ascii: "/"):
                append(&text)
                segments.append([])
            case UInt8(ascii: "?"):
                append(&text)
                query = String(decoding: rest.dropFirst().prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
                return
            case UInt8(ascii: "#"):
                append(&text)
                return
            default: text.append(byte)
            }
            rest.removeFirst()
        }
        append(&text)
    }

    private mutating func append(_ text: inout [UInt8]) {
        guard !text.isEmpty else { return }
        segments[segments.count - 1].append(.text(String(decoding: text, as: UTF8.self)))
        text = []
    }

    /// The parameter names in order. A name may repeat.
    var names: [String] {
        segments.flatMap { $0 }.compactMap { if case .parameter(let name) = $0 { name } else { nil } }
    }

    /// A value that would change which path is requested.
    struct Flaw: Error {
        let name: String
        let problem: String
    }

    /// Returns the path with these values, which must already be encoded.
    ///
    /// - Throws: if values make a segment empty, `.` or `..`. A DELETE of `/users/{id}` must not become a DELETE of
    ///   `/users/`.
    func expanded(_ value: (_ name: String) -> String) throws(Flaw) -> String {
        var path = ""
        for (index, segment) in segments.enumerated() {
            if index > 0 { path += "/" }
            var text = ""
            var first: String?
            for part in segment {
                switch part {
                case .text(let literal): text += literal
                case .parameter(let name):
                    first = first ?? name
                    text += value(name)
                }
            }
            if let first {
                if text.isEmpty {
                    throw Flaw(name: first, problem: "is empty, which would remove a segment of the path")
                }
                if PathTemplate.isDots(text) {
                    throw Flaw(name: first, problem: "makes a path segment . or .., which would select another path")
                }
            }
            path += text
        }
        return path
    }

    /// Returns true if the segment is `.` or `..`, encoded or not.
    private static func isDots(_ segment: String) -> Bool {
        guard segment.utf8.count <= 6 else { return false }
        let plain = PercentEncoding.decoded(segment.utf8)
        return plain.elementsEqual(".".utf8) || plain.elementsEqual("..".utf8)
    }
}
