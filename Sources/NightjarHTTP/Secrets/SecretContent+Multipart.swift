extension SecretContent {
    /// Replaces the content of secret parts, and the secrets in other parts. RFC 2046 section 5.1, RFC 7578.
    ///
    /// - Returns: nil if the boundary is not known.
    package static func multipart(
        _ bytes: [UInt8], type: String?, with secrets: inout some SecretReplacing, depth: Int
    ) -> [UInt8]? {
        guard let boundary = boundary(bytes, type) else { return nil }
        let delimiter = Array("--".utf8) + boundary
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        // Text after the closing delimiter is handled like a part, because parsers disagree on which delimiter closes
        // the body.
        while let start = place(of: delimiter, in: bytes, from: at) {
            let lineEnd = bytes[start...].firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? bytes.count
            result += plain(bytes[at..<start], with: &secrets, depth: depth) + delimiter
            result += plain(bytes[(start + delimiter.count)..<lineEnd], with: &secrets, depth: depth)
            at = lineEnd
            var end = place(of: delimiter, in: bytes, from: at) ?? bytes.count
            let fields = Fields(bytes[at..<end], with: &secrets)
            // If other text follows the delimiter on its line, some parsers end the part and others do not. A secret
            // part ends at a delimiter that all parsers accept.
            if fields.isSecret { end = place(of: delimiter, isWholeLine: true, in: bytes, from: at) ?? bytes.count }
            result += fields.text
            result += content(bytes[(at + fields.count)..<end], isPart: true, of: fields, with: &secrets, depth: depth)
            at = end
        }
        return result + plain(bytes[at...], with: &secrets, depth: depth)
    }

    /// Replaces the secrets in text outside of the parts: before the first delimiter, and on the line of a delimiter.
    private static func plain(
        _ text: ArraySlice<UInt8>, with secrets: inout some SecretReplacing, depth: Int
    ) -> [UInt8] {
        text.allSatisfy { ASCII.isWhitespace($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "\n") }
            ? Array(text) : replacing(Array(text), type: nil, with: &secrets, depth: depth + 1)
    }

    private static func boundary(_ bytes: [UInt8], _ type: String?) -> [UInt8]? {
        if let type, let parameter = MediaType(type)?["boundary"], !parameter.isEmpty {
            return Array(parameter.utf8)
        }
        // Without a boundary parameter, the first line of the body is taken as the first delimiter.
        guard bytes.starts(with: "--".utf8) else { return nil }
        let line = bytes.dropFirst(2).prefix { !ASCII.isWhitespace($0) }
        return line.isEmpty || line.count > 70 ? nil : Array(line)
    }

    /// Returns the position of the next delimiter at the beginning of a line. RFC 2046 section 5.1.1.
    ///
    /// - Parameter isWholeLine: true if only `--` and white space may follow the delimiter on its line.
    private static func place(
        of delimiter: [UInt8], isWholeLine: Bool = false, in bytes: [UInt8], from start: Int
    ) -> Int? {
        guard let first = delimiter.first else { return nil }
        var at = start
        while at + delimiter.count <= bytes.count {
            if bytes[at] == first, at == 0 || bytes[at - 1] == UInt8(ascii: "\n"),
                bytes[at..<(at + delimiter.count)].elementsEqual(delimiter)
            {
                let rest = bytes[(at + delimiter.count)...].prefix { $0 != UInt8(ascii: "\n") }
                let padding = rest.starts(with: "--".utf8) ? rest.dropFirst(2) : rest
                if !isWholeLine || padding.allSatisfy(ASCII.isWhitespace) { return at }
            }
            at += 1
        }
        return nil
    }

    /// The header fields of a part or message, up to and including the empty line.
    private struct Fields {
        /// The fields with their secrets replaced.
        var text: [UInt8] = []
        /// The number of bytes that the fields occupy in the message.
        var count = 0
        var type: String?
        /// True if Content-Disposition contains the name of a secret. The content is then secret.
        var isSecret = false

        init(_ bytes: ArraySlice<UInt8>, with secrets: inout some SecretReplacing) {
            var rest = bytes
            while !rest.isEmpty {
                let line = rest.prefix(through: rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex - 1)
                rest = rest[line.endIndex...]
                guard !ASCII.trimmed(line).isEmpty else {
                    text += line
                    break
                }
                add(line, with: &secrets)
            }
            count = rest.startIndex - bytes.startIndex
        }

        private mutating func add(_ line: ArraySlice<UInt8>, with secrets: inout some SecretReplacing) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), FieldSyntax.isToken(line[..<colon]) else {
                text += line
                return
            }
            let name = line[..<colon]
            let value = ASCII.trimmed(line[(colon + 1)...])
            if ASCII.equalIgnoringCase(name, "content-type".utf8) { type = String(decoding: value, as: UTF8.self) }
            if ASCII.equalIgnoringCase(name, "content-disposition".utf8) {
                isSecret = isSecret || disposition(value).map { secrets.isSecret(name: $0) } ?? false
            }
            let isCredential = Array(name).withUnsafeBytes { name in
                Array(value).withUnsafeBytes { SecretNames.isSecret(field: name, $0) }
            }
            guard isCredential, let other = secrets.replacement(for: String(decoding: value, as: UTF8.self)) else {
                text += line
                return
            }
            text += line[..<value.startIndex] + Array(other.utf8) + line[value.endIndex...]
        }
    }

    /// Replaces the secrets in a message, which consists of header fields, an empty line and content.
    package static func message(_ bytes: [UInt8], with secrets: inout some SecretReplacing, depth: Int) -> [UInt8] {
        let fields = Fields(bytes[...], with: &secrets)
        return fields.text
            + content(bytes[fields.count...], isPart: false, of: fields, with: &secrets, depth: depth)
    }

    private static func content(
        _ bytes: ArraySlice<UInt8>, isPart: Bool, of fields: Fields, with secrets: inout some SecretReplacing,
        depth: Int
    ) -> [UInt8] {
        // The line end before a delimiter belongs to the delimiter.
        var end = bytes.endIndex
        if isPart, end > bytes.startIndex, bytes[end - 1] == UInt8(ascii: "\n") {
            end -= 1
            if end > bytes.startIndex, bytes[end - 1] == UInt8(ascii: "\r") { end -= 1 }
        }
        let content = Array(bytes[..<end])
        let rest = bytes[end...]
        if fields.isSecret, !content.isEmpty,
            let other = secrets.replacement(for: String(decoding: content, as: UTF8.self))
        {
            return Array(other.utf8) + rest
        }
        let isText = fields.type != nil || String(validating: content, as: UTF8.self) != nil
        return (isText ? replacing(content, type: fields.type, with: &secrets, depth: depth + 1) : content) + rest
    }

    /// Returns the name in a Content-Disposition field: `form-data; name="password"`.
    private static func disposition(_ value: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = value
        while let semicolon = rest.firstIndex(of: UInt8(ascii: ";")) {
            rest = rest[(semicolon + 1)...].drop(while: ASCII.isWhitespace)
            let name = rest.prefix { $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: ";") }
            let isExtended = ASCII.equalIgnoringCase(name, "name*".utf8)
            guard isExtended || ASCII.equalIgnoringCase(ASCII.trimmed(name), "name".utf8) else {
                rest = skippingParameter(rest)
                continue
            }
            var text = rest[name.endIndex...].dropFirst().drop(while: ASCII.isWhitespace)
            if text.first == UInt8(ascii: "\"") {
                text = text.dropFirst()
                var result: [UInt8] = []
                while let byte = text.popFirst(), byte != UInt8(ascii: "\"") {
                    result.append(byte == UInt8(ascii: "\\") ? text.popFirst() ?? byte : byte)
                }
                return PercentEncoding.decoded(result)
            }
            let plain = ASCII.trimmed(text.prefix { $0 != UInt8(ascii: ";") })
            guard isExtended else { return Array(plain) }
            // RFC 8187: charset'language'value.
            return PercentEncoding.decoded(plain.split(separator: UInt8(ascii: "'")).last ?? plain)
        }
        return nil
    }

    /// Skips a parameter, whose value may be quoted and contain semicolons.
    private static func skippingParameter(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var (rest, isQuoted) = (text, false)
        while let byte = rest.first {
            if !isQuoted, byte == UInt8(ascii: ";") { return rest }
            if isQuoted, byte == UInt8(ascii: "\\") { rest = rest.dropFirst() }
            if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
            rest = rest.dropFirst()
        }
        return rest
    }
}
