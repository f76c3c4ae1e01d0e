/// Names for files whose names come from a server.
package enum FileName {
    /// Returns the file name that a response suggests, made safe. Nil if there is none.
    ///
    /// RFC 6266 section 4.3: `filename*` (RFC 8187) has precedence over `filename`.
    package static func suggested(by headers: Headers) -> String? {
        guard let field = headers["content-disposition"] else { return nil }
        let text = Array(field.utf8)[...]
        let parameters = MediaType.parameters(text.drop { $0 != UInt8(ascii: ";") })
        let extended = parameters.first { $0.name == "filename*" }.flatMap { decode($0.value) }
        guard let name = extended ?? parameters.first(where: { $0.name == "filename" })?.value else { return nil }
        return safe(name)
    }

    /// Returns the last segment of a URL's path, decoded and made safe. Nil if the path has none.
    package static func last(of path: String) -> String? {
        let path = path.prefix { $0 != "?" && $0 != "#" }
        guard let segment = path.split(separator: "/", omittingEmptySubsequences: true).last else { return nil }
        return safe(String(decoding: decodePercent(Array(segment.utf8)), as: UTF8.self))
    }

    /// Decodes a value with a character set and a language: `UTF-8'en'%e2%82%ac`. RFC 8187 section 3.2.
    private static func decode(_ value: String) -> String? {
        let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { return nil }
        let bytes = decodePercent(Array(parts[2].utf8))
        switch parts[0].lowercased() {
        case "utf-8": return String(validating: bytes, as: UTF8.self)
        case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
        default: return nil
        }
    }

    private static func decodePercent(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let high = ASCII.hexValue(rest[rest.startIndex]),
                let low = ASCII.hexValue(rest[rest.startIndex + 1])
            {
                result.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                result.append(byte)
            }
        }
        return result
    }

    /// Returns a name without folders, control characters and a leading dot, of at most ``longest`` bytes. Nil if
    /// nothing is left.
    ///
    /// A leading dot would hide the file. Characters that change the direction of text would disguise its extension. A
    /// later download would continue a file with the name of a part or of its state.
    package static func safe(_ name: String) -> String? {
        var scalars = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            if scalar == "/" || scalar == "\\" {
                scalars = String.UnicodeScalarView()
            } else if !isUnsafe(scalar) {
                scalars.append(scalar)
            }
        }
        var safe = String(scalars)
        while safe.unicodeScalars.first.map({ $0 == "." || $0 == " " }) == true { safe.unicodeScalars.removeFirst() }
        return safe.isEmpty ? nil : shortened(withoutPartSuffix(safe), to: longest)
    }

    /// Replaces the dot of each ``partSuffix`` by an underscore. Ignores case, like some file systems.
    private static func withoutPartSuffix(_ name: String) -> String {
        var bytes = Array(name.utf8)
        let suffix = Array(partSuffix.utf8)
        for start in bytes.indices where bytes[start] == suffix[0] {
            let found = bytes[start...].prefix(suffix.count)
            if found.elementsEqual(suffix, by: { ASCII.lowercase($0) == $1 }) { bytes[start] = UInt8(ascii: "_") }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: true
        default: false
        }
    }

    /// Returns the name with at most `limit` bytes. Keeps an extension of at most 16 bytes.
    package static func shortened(_ name: String, to limit: Int) -> String {
        guard name.utf8.count > limit else { return name }
        var stem = name
        var ending = ""
        if let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), name[dot...].utf8.count <= 16 {
            (stem, ending) = (String(name[..<dot]), String(name[dot...]))
        }
        while !stem.isEmpty, stem.utf8.count + ending.utf8.count > limit { stem.unicodeScalars.removeLast() }
        return stem + ending
    }

    /// The end of the name of a part. The name of its state continues it.
    package static let partSuffix = ".nightjar-part"
    /// The maximum length of a name from a server in bytes. The file system allows 255; the rest is for suffixes.
    package static let longest = 200
}
