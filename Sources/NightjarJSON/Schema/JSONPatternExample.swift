/// Generates a text for a simple pattern from the first alternatives and the fewest repetitions. Unbounded parts are
/// repeated ``extra`` more times.
///
/// Lookaheads are ignored, so the caller must check the result. Lookbehinds and backreferences are not supported.
struct JSONPatternExample {
    /// The maximum nesting of groups.
    private static let maximumDepth = 16
    /// The maximum number of scalars of the pattern and of the generated text.
    private static let maximumCount = 4_096

    private let scalars: [Unicode.Scalar]
    private var at = 0
    private var depth = 0
    /// The number of additional repetitions for an unbounded quantifier.
    private let extra: Int

    init(_ pattern: String, extra: Int) {
        scalars = Array(pattern.unicodeScalars.prefix(JSONPatternExample.maximumCount))
        self.extra = extra
    }

    /// Returns the text, or nil if the text is too long or the pattern contains an unsupported construct.
    mutating func text() -> String? {
        guard let text = alternatives(), at == scalars.count else { return nil }
        var view = String.UnicodeScalarView()
        view.append(contentsOf: text)
        return String(view)
    }

    private mutating func alternatives() -> [Unicode.Scalar]? {
        guard let first = sequence() else { return nil }
        while peek == "|" {
            at += 1
            guard sequence() != nil else { return nil }
        }
        return first
    }

    private mutating func sequence() -> [Unicode.Scalar]? {
        var text: [Unicode.Scalar] = []
        while let scalar = peek, scalar != "|", scalar != ")" {
            guard let atom = atom(), let (least, most) = repetition() else { return nil }
            let count = most == nil ? least + (atom.isEmpty ? 0 : extra) : least
            guard count == 0 || text.count + count * max(1, atom.count) <= JSONPatternExample.maximumCount else {
                return nil
            }
            for _ in 0..<(atom.isEmpty ? 0 : count) { text += atom }
        }
        return text
    }

    private mutating func atom() -> [Unicode.Scalar]? {
        guard let scalar = next() else { return nil }
        switch scalar {
        case "^", "$": return []
        case ".": return ["a"]
        case "(":
            depth += 1
            defer { depth -= 1 }
            guard depth <= JSONPatternExample.maximumDepth else { return nil }
            if peek == "?" {
                at += 1
                switch next() {
                case ":": break
                case "<":
                    guard let first = peek, first != "=", first != "!" else { return nil }
                    while let scalar = next(), scalar != ">" {}
                case "!", "=":
                    // The lookahead is ignored. The caller checks the generated text.
                    guard alternatives() != nil, next() == ")" else { return nil }
                    return []
                default: return nil
                }
            }
            guard let text = alternatives(), next() == ")" else { return nil }
            return text
        case "[": return member().map { [$0] }
        case "\\":
            guard let escaped = next() else { return nil }
            if escaped == "b" || escaped == "B" { return [] }
            return escape(escaped).map { [$0] }
        case "*", "+", "?", "{": return nil
        default: return [scalar]
        }
    }

    /// Reads a quantifier. Returns the minimum and the maximum. The maximum is nil if the quantifier is unbounded.
    private mutating func repetition() -> (Int, Int?)? {
        let bounds: (Int, Int?)
        switch peek {
        case "*": bounds = (0, nil)
        case "+": bounds = (1, nil)
        case "?": bounds = (0, 1)
        case "{":
            at += 1
            guard let least = number() else { return nil }
            var most: Int? = least
            if peek == "," {
                at += 1
                most = number()
            }
            guard peek == "}" else { return nil }
            bounds = (least, most)
        default: return (1, 1)
        }
        at += 1
        if peek == "?" { at += 1 }
        return bounds
    }

    private mutating func number() -> Int? {
        var number: Int?
        while let scalar = peek, scalar.isASCII, ASCII.isDigit(UInt8(truncatingIfNeeded: scalar.value)) {
            number = (number ?? 0) * 10 + Int(scalar.value - 48)
            guard number ?? 0 <= JSONPatternExample.maximumCount else { return nil }
            at += 1
        }
        return number
    }

    /// Returns a scalar that a bracket expression matches.
    private mutating func member() -> Unicode.Scalar? {
        var isNegated = false
        if peek == "^" {
            isNegated = true
            at += 1
        }
        var ranges: [ClosedRange<UInt32>] = []
        var first: Unicode.Scalar?
        while let scalar = next(), scalar != "]" {
            var low = scalar
            if scalar == "\\" {
                guard let escaped = next(), let plain = escape(escaped) else { return nil }
                low = plain
                if "dwsDWSp".unicodeScalars.contains(escaped) {
                    first = first ?? plain
                    // A class such as \d. Only one of its scalars is recorded. The caller checks the generated text.
                    ranges.append(plain.value...plain.value)
                    continue
                }
            }
            var high = low
            if peek == "-", at + 1 < scalars.count, scalars[at + 1] != "]" {
                at += 1
                guard let end = next() else { return nil }
                high = end
                if end == "\\" {
                    guard let escaped = next(), let plain = escape(escaped) else { return nil }
                    high = plain
                }
            }
            guard low.value <= high.value else { return nil }
            first = first ?? low
            ranges.append(low.value...high.value)
        }
        guard isNegated else { return first }
        return "aA0-_ .~".unicodeScalars.first { scalar in !ranges.contains { $0.contains(scalar.value) } }
    }

    /// Returns a scalar that an escape matches.
    private mutating func escape(_ scalar: Unicode.Scalar) -> Unicode.Scalar? {
        switch scalar {
        case "d": return "0"
        case "w", "D", "S": return "a"
        case "s": return " "
        case "W": return "-"
        case "n": return "\n"
        case "r": return "\r"
        case "t": return "\t"
        case "f": return "\u{C}"
        case "v": return "\u{B}"
        case "u", "x":
            var value: UInt32 = 0
            for _ in 0..<(scalar == "u" ? 4 : 2) {
                guard let digit = next(), digit.isASCII,
                    let hex = ASCII.hexValue(UInt8(truncatingIfNeeded: digit.value))
                else { return nil }
                value = value * 16 + UInt32(hex)
            }
            return Unicode.Scalar(value)
        case "p":
            guard next() == "{" else { return nil }
            while let scalar = next() {
                if scalar == "}" { return "a" }
            }
            return nil
        case _ where scalar.properties.isAlphabetic || scalar.properties.numericType != nil: return nil
        default: return scalar
        }
    }

    private var peek: Unicode.Scalar? { at < scalars.count ? scalars[at] : nil }

    private mutating func next() -> Unicode.Scalar? {
        guard let scalar = peek else { return nil }
        at += 1
        return scalar
    }
}
