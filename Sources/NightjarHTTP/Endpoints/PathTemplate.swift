/// The path of an operation, its parameters in braces: `/{owner}/{repo}.{format}`. OpenAPI 3.1 section 4.8.8.
///
/// Braces hold a name and nothing else; one that is not closed is text. What is behind `?` is a query, and what is behind
/// `#` is left out, as it is never sent.
struct PathTemplate {
    enum Part: Equatable {
        case text(String)
        case parameter(String)
    }

    /// Of the path, each without its slashes.
    private(set) var segments: [[Part]] = [[]]
    /// Behind the question mark; nil: there is none.
    private(set) var query: String?

    init(_ template: String) {
        var rest = template[...]
        var text = ""
        while let character = rest.first {
            switch character {
            case "{":
                if let end = rest.firstIndex(of: "}") {
                    append(&text)
                    let name = rest[rest.index(after: rest.startIndex)..<end]
                    segments[segments.count - 1].append(.parameter(String(name)))
                    rest = rest[rest.index(after: end)...]
                    continue
                }
                text.append(character)
            case "/":
                append(&text)
                segments.append([])
            case "?":
                append(&text)
                query = String(rest.dropFirst().prefix { $0 != "#" })
                return
            case "#":
                append(&text)
                return
            default: text.append(character)
            }
            rest.removeFirst()
        }
        append(&text)
    }

    private mutating func append(_ text: inout String) {
        guard !text.isEmpty else { return }
        segments[segments.count - 1].append(.text(text))
        text = ""
    }

    /// In their order; a name may repeat.
    var names: [String] {
        segments.flatMap { $0 }.compactMap { if case .parameter(let name) = $0 { name } else { nil } }
    }

    /// Why a value cannot stand where it is to stand: it would be another path that is asked for.
    struct Flaw: Error {
        let name: String
        let problem: String
    }

    /// The path with these values, which are encoded.
    ///
    /// - Throws: for a segment that its values leave empty, or make `.` or `..`: a DELETE of `/users/{id}` must not become
    ///   one of `/users/`.
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
                    throw Flaw(name: first, problem: "is empty, which leaves out a segment of the path")
                }
                if PathTemplate.isDots(text) {
                    throw Flaw(name: first, problem: "makes a segment of the path . or .., which is another path")
                }
            }
            path += text
        }
        return path
    }

    /// Whether it is one dot or two, escaped or not.
    private static func isDots(_ segment: String) -> Bool {
        guard segment.utf8.count <= 6 else { return false }
        let plain = PercentEncoding.decoded(segment.utf8)
        return plain.elementsEqual(".".utf8) || plain.elementsEqual("..".utf8)
    }
}
