/// Quotes bytes as one word of a POSIX shell. Supports every byte except NUL, which an argument cannot contain.
enum ShellWord {
    /// Returns the quoted word. Printable text and line breaks are put in single quotes, and a single quote is escaped
    /// with a backslash. Other characters and bytes are written as a printf command, because not every shell supports
    /// `$'...'`.
    static func quote(_ bytes: some Collection<UInt8>) -> String {
        var word = ""
        var plain = ""
        var octal = ""
        func endPlain() {
            guard !plain.isEmpty else { return }
            word += "'\(plain)'"
            plain = ""
        }
        func endOctal() {
            guard !octal.isEmpty else { return }
            word += "\"$(printf '\(octal)')\""
            octal = ""
        }

        var rest = Array(bytes)[...]
        while let first = rest.first {
            guard let scalar = firstScalar(rest) else {
                endPlain()
                octal += ShellWord.octal(first)
                rest.removeFirst()
                continue
            }
            let encoded = rest.prefix(UTF8.width(scalar))
            rest.removeFirst(encoded.count)
            if scalar == "'" {
                endPlain()
                endOctal()
                word += "\\'"
            } else if isShown(scalar) {
                endOctal()
                plain.unicodeScalars.append(scalar)
            } else {
                endPlain()
                for byte in encoded { octal += ShellWord.octal(byte) }
            }
        }
        endPlain()
        endOctal()
        return word.isEmpty ? "''" : word
    }

    /// Returns the first scalar of `bytes`, or nil if they do not begin with valid UTF-8.
    private static func firstScalar(_ bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        for length in 1...4 {
            if let text = String(validating: bytes.prefix(length), as: UTF8.self) { return text.unicodeScalars.first }
        }
        return nil
    }

    /// Returns true if a character can be written in quotes. A line break is written in quotes because a command
    /// substitution would drop it.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        if scalar == "\n" { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate: return false
        default: return true
        }
    }

    private static func octal(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 8)
        return "\\" + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
