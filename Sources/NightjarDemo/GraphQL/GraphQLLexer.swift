extension GraphQL {
    enum Token: Equatable {
        /// One of ! $ & ( ) ... : = @ [ ] { | }
        case punctuator(String)
        case name(String)
        case integer(Int64)
        case float(Double)
        case string(String)
        case end

        /// The token in error messages.
        var description: String {
            switch self {
            case .punctuator(let text): "\"\(text)\""
            case .name(let name): "the name \(name)"
            case .integer, .float: "a number"
            case .string: "a string"
            case .end: "the end"
            }
        }
    }

    /// Divides the text of a request into tokens. Section 2.1.
    struct Lexer {
        private let text: [Unicode.Scalar]
        private var index = 0
        private var line = 1
        private var lineStart = 0

        init(_ text: String) { self.text = Array(text.unicodeScalars) }

        private var location: Location { Location(line: line, column: index - lineStart + 1) }

        private func peek(_ ahead: Int = 0) -> Unicode.Scalar? {
            index + ahead < text.count ? text[index + ahead] : nil
        }

        private func string(_ range: Range<Int>) -> String {
            var string = ""
            string.unicodeScalars.append(contentsOf: text[range])
            return string
        }

        mutating func next() throws(Failure) -> (token: Token, location: Location) {
            skipIgnored()
            let location = location
            guard let first = peek() else { return (.end, location) }
            switch first {
            case "!", "$", "&", "(", ")", ":", "=", "@", "[", "]", "{", "|", "}":
                index += 1
                return (.punctuator(String(first)), location)
            case "." where peek(1) == "." && peek(2) == ".":
                index += 3
                return (.punctuator("..."), location)
            case "_", "A"..."Z", "a"..."z": return (.name(name()), location)
            case "-", "0"..."9": return (try number(location), location)
            case "\"":
                if peek(1) == "\"", peek(2) == "\"" { return (.string(try blockString(location)), location) }
                return (.string(try string(location)), location)
            default:
                throw Failure(message: "the character at this place is not expected", locations: [location])
            }
        }

        /// Skips white space, line ends, commas, comments and a byte order mark.
        private mutating func skipIgnored() {
            while let next = peek() {
                switch next {
                case " ", "\t", "\r", ",", "\u{FEFF}": index += 1
                case "\n": endLine()
                case "#": while let next = peek(), next != "\n" { index += 1 }
                default: return
                }
            }
        }

        private mutating func endLine() {
            index += 1
            line += 1
            lineStart = index
        }

        private mutating func name() -> String {
            let start = index
            while let next = peek(), isNamePart(next) { index += 1 }
            return string(start..<index)
        }

        private func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
            switch scalar {
            case "_", "A"..."Z", "a"..."z", "0"..."9": true
            default: false
            }
        }

        private mutating func number(_ location: Location) throws(Failure) -> Token {
            let start = index
            while let next = peek(), isNamePart(next) || next == "." || next == "-" || next == "+" { index += 1 }
            let number = string(start..<index)
            let digits = number.first == "-" ? number.dropFirst() : number[...]
            let hasLeadingZero = digits.first == "0" && digits.dropFirst().first?.isNumber == true
            if !hasLeadingZero, digits.first?.isNumber == true, digits.last?.isNumber == true {
                if let value = Int64(number) { return .integer(value) }
                if let value = Double(number), value.isFinite { return .float(value) }
            }
            throw Failure(message: "\"\(number)\" is not a number", locations: [location])
        }

        private mutating func string(_ location: Location) throws(Failure) -> String {
            index += 1
            var string = ""
            while let next = peek(), next != "\n" {
                index += 1
                switch next {
                case "\"": return string
                case "\\": string.unicodeScalars.append(try escaped(location))
                default: string.unicodeScalars.append(next)
                }
            }
            throw Failure(message: "the string has no end", locations: [location])
        }

        private mutating func escaped(_ location: Location) throws(Failure) -> Unicode.Scalar {
            let next = peek()
            index += 1
            switch next {
            case "\"", "\\", "/": return next ?? "/"
            case "b": return "\u{8}"
            case "f": return "\u{C}"
            case "n": return "\n"
            case "r": return "\r"
            case "t": return "\t"
            case "u": if let scalar = scalar() { return scalar }
            default: break
            }
            throw Failure(message: "the string has an escape that does not exist", locations: [location])
        }

        /// Reads the digits after `\u`: four, any number in braces, or a pair of surrogates.
        private mutating func scalar() -> Unicode.Scalar? {
            if peek() == "{" {
                index += 1
                let start = index
                while let next = peek(), next != "}", index - start < 8 { index += 1 }
                let digits = string(start..<index)
                index += 1
                return UInt32(digits, radix: 16).flatMap { Unicode.Scalar($0) }
            }
            guard let first = unit() else { return nil }
            guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) }
            guard peek() == "\\", peek(1) == "u" else { return nil }
            index += 2
            guard let second = unit(), 0xDC00..<0xE000 ~= second else { return nil }
            return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        }

        private mutating func unit() -> UInt32? {
            guard index + 4 <= text.count else { return nil }
            defer { index += 4 }
            return UInt32(string(index..<index + 4), radix: 16)
        }

        /// Section 2.9.4: the indentation that all lines share is removed, and so are empty lines at both ends.
        private mutating func blockString(_ location: Location) throws(Failure) -> String {
            index += 3
            var string = ""
            while let next = peek() {
                if next == "\"", peek(1) == "\"", peek(2) == "\"" {
                    index += 3
                    return Lexer.withoutIndentation(string)
                }
                if next == "\\", peek(1) == "\"", peek(2) == "\"", peek(3) == "\"" {
                    index += 4
                    string += "\"\"\""
                    continue
                }
                string.unicodeScalars.append(next)
                if next == "\n" { endLine() } else { index += 1 }
            }
            throw Failure(message: "the string has no end", locations: [location])
        }

        private static func withoutIndentation(_ text: String) -> String {
            var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map {
                $0.last == "\r" ? $0.dropLast() : $0
            }
            func isBlank(_ line: Substring) -> Bool { line.allSatisfy { $0 == " " || $0 == "\t" } }
            let common =
                lines.dropFirst().filter { !isBlank($0) }
                .map { $0.prefix { $0 == " " || $0 == "\t" }.count }.min() ?? 0
            for index in lines.indices.dropFirst() { lines[index] = lines[index].dropFirst(common) }
            while let first = lines.first, isBlank(first) { lines.removeFirst() }
            while let last = lines.last, isBlank(last) { lines.removeLast() }
            return lines.joined(separator: "\n")
        }
    }
}
