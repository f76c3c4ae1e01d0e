/// Writes bytes as one word of a POSIX shell's command line, right for every byte but NUL, which no argument can hold.
enum ShellWord {
    /// Printable text stands between single quotes, where nothing has a meaning. Control characters, which would act on
    /// the terminal of whoever looks at the command, and bytes that are not UTF-8 are made by printf, as `$'...'` is not
    /// known to every shell.
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

    /// The scalar that `bytes` begin with; nil when they do not begin with UTF-8.
    private static func firstScalar(_ bytes: ArraySlice<UInt8>) -> Unicode.Scalar? {
        for length in 1...4 {
            if let text = String(validating: bytes.prefix(length), as: UTF8.self) { return text.unicodeScalars.first }
        }
        return nil
    }

    /// The end of a line is: a command substitution would lose it, and in quotes it harms nobody.
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
