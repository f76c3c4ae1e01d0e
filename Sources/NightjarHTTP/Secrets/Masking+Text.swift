extension Masking {
    /// Masks secrets in free text, such as a log message.
    ///
    /// Masks user info and secret items in URLs of any scheme, secret members of JSON, and values after secret names
    /// (`password=x`, `"token": "x"`). A value without quotes after a colon and white space is masked only if the value
    /// looks like a credential. Also masks words after `Bearer` and `Basic` that look like credentials, and tokens that
    /// are recognized by their form.
    package static func text(_ text: String) -> String {
        var masks = Masks(sensitive: [])
        let bytes = SecretContent.json(Array(text.utf8), with: &masks)
        return String(decoding: SecretContent.tokens(words(bytes), with: &masks), as: UTF8.self)
    }

    /// Masks the secret words of a message. Separators are kept.
    private static func words(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var at = 0
        var previous: ArraySlice<UInt8> = []
        while at < bytes.count {
            guard isWord(bytes[at]) else {
                result.append(bytes[at])
                at += 1
                continue
            }
            let start = at
            while at < bytes.count, isWord(bytes[at]) { at += 1 }
            let word = bytes[start..<at]
            result += shown(word, after: previous)
            previous = word.elementsEqual("=".utf8) ? previous + word : word
            // Handles `password = "hunter2"`.
            guard let sign = word.last, sign == UInt8(ascii: "=") || sign == UInt8(ascii: ":"),
                isNamed(word.dropLast()) || word.count == 1 && isNamed(ending(before: start, bytes))
            else { continue }
            let value = SecretContent.skippingBlanks(bytes, from: at)
            guard value < bytes.count, "\"'`".utf8.contains(bytes[value]) else { continue }
            let end = bytes[(value + 1)...].firstIndex { $0 == bytes[value] || $0 == UInt8(ascii: "\n") } ?? bytes.count
            result += bytes[at...value] + Array(mask.utf8)
            at = end
        }
        return result
    }

    /// Returns the word that ends before a position, ignoring white space.
    private static func ending(before place: Int, _ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let text = bytes[..<place].suffix(256)
        guard let last = text.lastIndex(where: { !ASCII.isWhitespace($0) }), isWord(text[last]) else { return [] }
        let start = text[...last].lastIndex { !isWord($0) }.map { $0 + 1 } ?? text.startIndex
        return text[start...last]
    }

    private static func isWord(_ byte: UInt8) -> Bool { byte > 0x20 && byte != 0x7F && !"\"'<>`".utf8.contains(byte) }

    private static func shown(_ word: ArraySlice<UInt8>, after previous: ArraySlice<UInt8>) -> [UInt8] {
        if isScheme(previous), isCredential(word) { return Array(mask.utf8) }
        // Masks "password: hunter2" but not "the token: it has expired", because the word must look like a credential.
        let isColon = previous.last == UInt8(ascii: ":") && isCredential(word)
        if isColon || previous.last == UInt8(ascii: "="), isNamed(previous.dropLast()) { return Array(mask.utf8) }
        guard word.contains(where: { "=/?&;@:".utf8.contains($0) }) else { return Array(word) }
        // Handles `x=1,password=hunter2`.
        let parts = word.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        let isURL = contains("://", word)
        guard parts.count > 1, !isURL else { return assigned(word) }
        return Array(parts.map(assigned).joined(separator: [UInt8(ascii: ",")]))
    }

    /// Masks the secrets of a word that is a URL, or a name and its value.
    private static func assigned(_ word: ArraySlice<UInt8>) -> [UInt8] {
        let place = word.prefix { !isSeparator($0) }
        if let sign = place.firstIndex(where: { $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: ":") }),
            sign + 1 < word.endIndex, !word[(sign + 1)...].starts(with: "//".utf8), isNamed(place[..<sign])
        {
            return Array(word[...sign]) + Array(mask.utf8)
        }
        return Array(url(String(decoding: word, as: UTF8.self)).utf8)
    }

    /// Returns true if a word ends with the name of a secret. Ignores punctuation at the end of the word.
    private static func isNamed(_ word: ArraySlice<UInt8>) -> Bool {
        func isPart(_ byte: UInt8) -> Bool { SecretShape.isTokenByte(byte) || byte == UInt8(ascii: ".") }
        let name = word.reversed().drop { !isPart($0) }.prefix(while: isPart).reversed()
        return SecretNames.strength(Array(name), in: .item) == .strong
            || ASCII.equalIgnoringCase(Array(name), "authorization".utf8)
    }

    private static func isScheme(_ word: ArraySlice<UInt8>) -> Bool {
        ["bearer", "basic"].contains { ASCII.equalIgnoringCase(word.suffix($0.utf8.count), $0.utf8) }
    }

    /// Returns true if a word looks like a credential and not like natural language.
    private static func isCredential(_ word: ArraySlice<UInt8>) -> Bool {
        word.count >= 20 || word.contains { ASCII.isDigit($0) || "=_+/~$!#%".utf8.contains($0) }
    }

    private static func contains(_ text: StaticString, _ bytes: ArraySlice<UInt8>) -> Bool {
        let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return bytes.indices.contains { bytes[$0...].starts(with: wanted) }
    }
}
