import NIOCore

/// A URI template: `/users/{id}/posts{?page,tag}`. Supports RFC 6570 up to level 3: all operators and several variables
/// in one expression. Values are strings.
///
/// Text outside braces is kept if it is legal in a URL, including escapes. Other characters are percent-encoded.
public struct URITemplate: Sendable {
    /// The template's source text.
    public let text: String
    /// The variable names in order of first occurrence, without duplicates.
    public let variables: [String]
    private let known: ExactSet
    private let parts: [Part]

    enum Part: Sendable {
        /// Percent-encoded text outside braces.
        case literal(String)
        case expression(Operator, [String])
    }

    /// Parses a template.
    ///
    /// - Throws: `invalid_url` if the template exceeds the maximum length of a URL, or for a syntax error, with its
    ///   position in characters, counted from 1.
    public init(_ text: String) throws(NightjarError) {
        try RequestTarget.checkLength(text.utf8.count)
        var reader = URITemplateReader(text)
        self.text = text
        parts = try reader.parts()
        var variables: [String] = []
        var known = ExactSet()
        for case .expression(_, let names) in parts {
            variables += names.filter { known.insert($0) }
        }
        self.variables = variables
        self.known = known
    }

    /// Expands the template with the values that `value` returns. A variable without a value is omitted (RFC 6570
    /// section 3.2.1).
    ///
    /// - Throws: `invalid_url` if the result exceeds the maximum length of a URL.
    public func expand(_ value: (_ name: String) -> String?) throws(NightjarError) -> String {
        var expansion = Expansion()
        for part in parts { try expansion.append(part, value) }
        return String(buffer: expansion.buffer)
    }

    /// Expands the template. Requires a value for each variable outside the query. Rejects values that make a path
    /// segment empty, `.` or `..`: an empty ID would turn `/users/{id}` into `/users/`.
    ///
    /// Variables in `{?...}` and `{&...}` may be missing, and `{+path}` may be empty. If a name occurs more than once
    /// in `values`, the first value is used.
    ///
    /// - Throws: `invalid_request` for a variable without a value, a value without a variable, and a value that makes a
    ///   path segment empty, `.` or `..`. `invalid_url` as in ``expand(_:)``.
    public func expandStrictly(_ values: [(name: String, value: String)]) throws(NightjarError) -> String {
        var table = ExactDictionary<String>()
        for item in values where table[item.name] == nil { table[item.name] = item.value }
        try checkNames(values, table)
        var expansion = Expansion()
        for part in parts { try expansion.append(part) { table[$0] } }
        try expansion.checkPath()
        return String(buffer: expansion.buffer)
    }

    private func checkNames(
        _ given: [(name: String, value: String)], _ table: ExactDictionary<String>
    ) throws(NightjarError) {
        for case .expression(let kind, let wanted) in parts where !kind.isOptional {
            guard let missing = wanted.first(where: { table[$0] == nil }) else { continue }
            let near = nearestName(to: missing, among: given.map(\.name).filter { !known.contains($0) })
            throw NightjarError(
                .invalidRequest,
                "the URL template's variable \(quoted(missing)) has no value; "
                    + (near.map { "did you mean the value \(quoted($0))?" } ?? "add a value"))
        }
        guard let unknownName = given.first(where: { !known.contains($0.name) })?.name else { return }
        let near = nearestName(to: unknownName, among: variables)
        throw NightjarError(
            .invalidRequest,
            "the URL template has no variable \(quoted(unknownName)); "
                + (near.map { "did you mean \(quoted($0))?" } ?? "remove the value"))
    }
}

extension URITemplate {
    /// The operator of an expression: the character after the opening brace. RFC 6570 sections 2.2 and 3.2.
    enum Operator: Sendable {
        case simple, reserved, fragment, label, segment, parameter, query, continuation

        init?(_ byte: UInt8) {
            switch byte {
            case UInt8(ascii: "+"): self = .reserved
            case UInt8(ascii: "#"): self = .fragment
            case UInt8(ascii: "."): self = .label
            case UInt8(ascii: "/"): self = .segment
            case UInt8(ascii: ";"): self = .parameter
            case UInt8(ascii: "?"): self = .query
            case UInt8(ascii: "&"): self = .continuation
            default: return nil
            }
        }

        /// The text written before the first value.
        var first: StaticString {
            switch self {
            case .simple, .reserved: ""
            case .fragment: "#"
            case .label: "."
            case .segment: "/"
            case .parameter: ";"
            case .query: "?"
            case .continuation: "&"
            }
        }

        /// The text written between two values.
        var separator: StaticString {
            switch self {
            case .simple, .reserved, .fragment: ","
            case .label: "."
            case .segment: "/"
            case .parameter: ";"
            case .query, .continuation: "&"
            }
        }

        /// True if each value is preceded by its name.
        var isNamed: Bool { self == .parameter || isOptional }
        /// True if reserved characters and escapes in values are kept.
        var keepsReserved: Bool { self == .reserved || self == .fragment }
        /// True if a value may be missing, because the variable is in the query.
        var isOptional: Bool { self == .query || self == .continuation }
    }

    private struct Expansion {
        /// The position of an expanded value that may be in the path.
        private struct Place {
            let range: Range<Int>
            let name: String
            let kind: Operator
        }

        private(set) var buffer = ByteBuffer()
        private var places: [Place] = []

        mutating func append(_ part: Part, _ value: (String) -> String?) throws(NightjarError) {
            switch part {
            case .literal(let text): buffer.writeString(text)
            case .expression(let kind, let names):
                var isFirst = true
                for name in names {
                    guard let text = value(name) else { continue }
                    // Check the length before the expensive encoding.
                    try RequestTarget.checkLength(text.utf8.count)
                    buffer.writeStaticString(isFirst ? kind.first : kind.separator)
                    isFirst = false
                    append(text, of: name, kind)
                    try RequestTarget.checkLength(buffer.writerIndex)
                }
            }
            try RequestTarget.checkLength(buffer.writerIndex)
        }

        private mutating func append(_ text: String, of name: String, _ kind: Operator) {
            if kind.isNamed {
                buffer.writeString(name)
                // A path-style parameter with an empty value has no `=`, but a query item does. Section 3.2.7.
                if kind != .parameter || !text.isEmpty { buffer.writeStaticString("=") }
            }
            let start = buffer.writerIndex
            if kind.keepsReserved {
                PercentEncoding.writeReserved(text.utf8, into: &buffer)
            } else {
                PercentEncoding.writeComponent(text, into: &buffer)
            }
            if !kind.isOptional { places.append(Place(range: start..<buffer.writerIndex, name: name, kind: kind)) }
        }

        /// A defect of a path segment that a value may have caused.
        private enum Flaw { case empty, climbing }

        func checkPath() throws(NightjarError) {
            guard !places.isEmpty else { return }
            let flaws = buffer.withUnsafeReadableBytes(Expansion.flaws)
            // `flaws` and `places` are sorted by position, so one pass finds all overlapping pairs.
            var first = 0
            for (segment, flaw) in flaws {
                while first < places.count, places[first].range.upperBound < segment.lowerBound { first += 1 }
                let touching = places[first...].prefix { $0.range.lowerBound <= segment.upperBound }
                for place in touching { try check(place, flaw) }
            }
        }

        /// Returns the empty and dot segments of the path, in order.
        private static func flaws(in url: UnsafeRawBufferPointer) -> [(segment: Range<Int>, Flaw)] {
            var flaws: [(segment: Range<Int>, Flaw)] = []
            var start = 0
            var end = 0
            while true {
                let byte = end < url.count ? url[end] : UInt8(ascii: "?")
                let isPathEnd = byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#")
                if isPathEnd || byte == UInt8(ascii: "/") {
                    if start == end { flaws.append((start..<end, .empty)) }
                    if isDots(url[start..<end]) { flaws.append((start..<end, .climbing)) }
                    start = end + 1
                }
                if isPathEnd { return flaws }
                end += 1
            }
        }

        /// Returns true if the segment is `.` or `..`, encoded or not.
        private static func isDots(_ segment: Slice<UnsafeRawBufferPointer>) -> Bool {
            guard let first = segment.first, first == UInt8(ascii: ".") || first == UInt8(ascii: "%"),
                segment.count <= 6
            else { return false }
            let plain = PercentEncoding.decoded(segment)
            return plain.elementsEqual(".".utf8) || plain.elementsEqual("..".utf8)
        }

        private func check(_ place: Place, _ flaw: Flaw) throws(NightjarError) {
            switch flaw {
            case .empty:
                guard place.kind == .simple || place.kind == .segment else { return }
                throw NightjarError(
                    .invalidRequest,
                    "the value of \(quoted(place.name)) is empty, which would remove a segment of the path")
            case .climbing:
                throw NightjarError(
                    .invalidRequest,
                    "the value of \(quoted(place.name)) makes a path segment . or .., which would select another path")
            }
        }
    }
}
