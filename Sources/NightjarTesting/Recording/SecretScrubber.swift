import NIOCore
import NightjarHTTP

/// Replaces the secrets in requests and responses.
///
/// For files, each secret is replaced with its unique name (`scrubbed-1`), which reveals nothing about the secret. A
/// token in a replayed response can therefore be sent again, and different tokens stay different. For comparisons,
/// secrets and their names become `***`, so that scrubbed and live requests are equal.
package struct SecretScrubber: Sendable {
    package enum Style: Sendable {
        /// Names with numbers from `after` + 1.
        case names(after: Int)
        case masked
    }

    private let names: CassetteSecrets
    private let isMasking: Bool
    private var lastNumber: Int
    /// True while a body of a login is being scrubbed.
    private var inLogin = false
    private var known = ExactDictionary<String>()
    /// The secrets in ``known`` that are replaced everywhere, in the order in which they were found.
    package private(set) var seen: [(secret: String, name: String)] = []

    package init(_ names: CassetteSecrets, _ style: Style) {
        self.names = names
        switch style {
        case .masked: (isMasking, lastNumber) = (true, 0)
        case .names(let number): (isMasking, lastNumber) = (false, number)
        }
        for value in names.values where !value.isEmpty { _ = replace(value, always: true) }
    }

    /// The prefix of the names of scrubbed secrets.
    package static let prefix = "scrubbed-"
    /// The minimum length in bytes of a secret that is replaced everywhere, not only where it was found. Shorter
    /// secrets would match other texts by chance. The secrets in ``CassetteSecrets/values`` may be shorter.
    package static let shortest = 6
    /// The maximum number of secrets that are replaced everywhere. Each secret costs a search of each body.
    private static let maximumSeen = 500

    // MARK: Messages

    /// Replaces the secrets in an exchange.
    ///
    /// - Parameter inLogin: true if the exchange is a login. Nil: detected from the names in its bodies.
    package mutating func scrub(_ exchange: RecordedExchange, inLogin: Bool? = nil) -> RecordedExchange {
        let inLogin = inLogin ?? isLogin(exchange)
        var request = exchange.request
        request.headers = scrub(request.headers)
        request.url = scrub(url: request.url)
        request.body = scrub(request.body, type: request.headers["Content-Type"], inLogin: inLogin)
        var response = exchange.response
        response?.headers = scrub(exchange.response?.headers ?? Headers())
        response?.trailers = scrub(exchange.response?.trailers ?? Headers())
        response?.body = scrub(
            exchange.response?.body ?? .none, type: exchange.response?.headers["Content-Type"], inLogin: inLogin)
        response?.messages = exchange.response?.messages.map { messages in
            messages.map { $0.with(body: scrub($0.content.body, type: nil, inLogin: inLogin)) }
        }
        return scrubSeen(RecordedExchange(request, response, exchange.failure))
    }

    /// Replaces all other occurrences of the secrets in ``seen`` in the URL, the values of headers and trailers, the
    /// bodies except binary ones, and the message of a failure.
    ///
    /// - Parameter first: the index in ``seen`` of the first secret to replace.
    package func scrubSeen(_ exchange: RecordedExchange, from first: Int = 0) -> RecordedExchange {
        let secrets = seen.dropFirst(first)
        guard !secrets.isEmpty || isMasking else { return exchange }
        func plain(_ text: String) -> String { withoutSeen(text, secrets) }
        func plain(_ headers: Headers) -> Headers {
            var others = Headers()
            for (name, value) in headers { try? others.add(name, plain(value)) }
            return others
        }
        var exchange = exchange
        exchange.request.url = plain(exchange.request.url)
        exchange.request.headers = plain(exchange.request.headers)
        exchange.request.body = exchange.request.body.mapTexts(plain)
        if var response = exchange.response {
            response.headers = plain(response.headers)
            response.body = response.body.mapTexts(plain)
            response.trailers = plain(response.trailers)
            response.messages = response.messages?.map { $0.with(body: $0.content.body.mapTexts(plain)) }
            exchange.response = response
        }
        if let message = exchange.failure?.message { exchange.failure?.message = plain(message) }
        return exchange
    }

    private func isLogin(_ exchange: RecordedExchange) -> Bool {
        func containsLogin(_ body: RecordedBody, _ type: String?) -> Bool {
            switch body {
            case .json(.object(let members)): return members.contains { CassetteSecrets.isLogin($0.name[...].utf8) }
            case .text(let text) where MediaType(type ?? "")?.essence == FormEncoding.contentType:
                return FormEncoding.decode(text.utf8).contains { CassetteSecrets.isLogin($0.name[...].utf8) }
            default: return false
            }
        }
        return containsLogin(exchange.request.body, exchange.request.headers["Content-Type"])
            || containsLogin(exchange.response?.body ?? .none, exchange.response?.headers["Content-Type"])
    }

    // MARK: Parts

    private mutating func scrub(_ headers: Headers) -> Headers {
        var others = Headers()
        for (name, value) in headers {
            try? others.add(name, scrub(value: value, ofField: name))
        }
        return others
    }

    private mutating func scrub(value: String, ofField name: String) -> String {
        switch String(decoding: name.utf8.map(ASCII.lowercase), as: UTF8.self) {
        case "authorization", "proxy-authorization":
            guard let space = value.utf8.firstIndex(of: UInt8(ascii: " ")) else { return replace(value) }
            let rest = String(value[value.utf8.index(after: space)...])
            if value[..<space].lowercased() == "basic" { notePassword(rest) }
            return value[...space] + replace(rest)
        case "cookie":
            return value.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
                .map { cookie(Substring($0)) }.joined(separator: ";")
        case "set-cookie":
            let end = value.utf8.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
            return cookie(value[..<end]) + value[end...]
        case "location", "content-location", "referer", "refresh": return scrub(url: value)
        default: return names.isSecret(field: name, value) ? replace(value) : value
        }
    }

    private mutating func cookie(_ pair: Substring) -> String {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return replace(String(pair)) }
        let value = String(pair[pair.utf8.index(after: equals)...])
        // An empty value is kept, because servers use it to delete a cookie.
        return value.isEmpty ? String(pair) : pair[...equals] + replace(value)
    }

    /// Records the password of Basic credentials (RFC 7617) as a separate secret. The encoded credentials are replaced
    /// as a whole.
    private mutating func notePassword(_ credentials: String) {
        guard let bytes = Base64.decode(credentials.utf8), let text = String(validating: bytes, as: UTF8.self),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return }
        _ = replace(String(text[text.utf8.index(after: colon)...]))
    }

    /// Removes the user info of a URL or a similar text, and scrubs its query and fragment.
    private mutating func scrub(url: String) -> String {
        var result = ""
        var rest = Substring(url).utf8
        let place = rest.prefix { !Masking.isSeparator($0) }
        result += Masking.withoutUserInfo(Substring(place))
        rest = rest[place.endIndex...]
        while let separator = rest.first {
            let item = rest.dropFirst().prefix { !Masking.isSeparator($0) }
            rest = rest[item.endIndex...]
            result.unicodeScalars.append(Unicode.Scalar(separator))
            result += self.item(item)
        }
        return result
    }

    private mutating func item(_ text: Substring.UTF8View) -> String {
        let name = text.prefix { $0 != UInt8(ascii: "=") }
        guard name.endIndex < text.endIndex,
            names.isSecret(queryItem: name)
                || Masking.hasSecret(text[name.endIndex...].dropFirst(), sensitive: names.additionalNames)
        else { return String(Substring(text)) }
        let value = FormEncoding.decode(text).first?.value ?? ""
        return value.isEmpty ? String(Substring(text)) : Substring(name) + "=" + replace(value)
    }

    private mutating func scrub(_ body: RecordedBody, type: String?, inLogin: Bool) -> RecordedBody {
        self.inLogin = inLogin
        switch body {
        case .none, .omitted: return body
        case .json(let value): return .json(scrub(value, inLogin: inLogin))
        case .text(let text):
            return .text(String(decoding: replacing(Array(text.utf8), type: type), as: UTF8.self))
        case .binary(let bytes):
            // Among binary bodies, only multipart forms are scrubbed, because they can contain named secrets besides
            // files.
            guard SecretContent.essence(type).hasPrefix("multipart/") else { return body }
            let others = replacing(Array(bytes.readableBytesView), type: type)
            return others.elementsEqual(bytes.readableBytesView) ? body : .binary(ByteBuffer(bytes: others))
        }
    }

    private mutating func replacing(_ bytes: [UInt8], type: String?) -> [UInt8] {
        SecretContent.replacing(bytes, type: type, with: &self)
    }

    /// Scrubs the secret members of a value: replaces an integer, or all strings inside the member except those that
    /// describe the secret. Also scrubs documents and tokens inside other strings.
    private mutating func scrub(_ value: JSONValue, inLogin: Bool, inSecret: Bool = false, depth: Int = 0) -> JSONValue
    {
        // Deeper bodies are stored as text, in which members are searched by name.
        guard depth < SecretScrubber.maximumDepth else { return value }
        switch value {
        case .object(let members):
            return .object(
                members.map { member in
                    let isSecret =
                        names.isSecret(member: member.name.utf8, inLogin: inLogin)
                        || inSecret && !CassetteSecrets.describesSecret(member.name.utf8)
                    if isSecret, let number = member.value.numberText {
                        return inSecret ? member : .init(member.name, .string(replace(number)))
                    }
                    return .init(
                        member.name, scrub(member.value, inLogin: inLogin, inSecret: isSecret, depth: depth + 1))
                })
        case .array(let elements):
            return .array(elements.map { scrub($0, inLogin: inLogin, inSecret: inSecret, depth: depth + 1) })
        case .string(let text) where inSecret && !text.isEmpty: return .string(replace(text))
        case .string(let text) where text.utf8.count >= SecretScrubber.shortest: return .string(inner(text))
        default: return value
        }
    }

    /// Scrubs a JSON string, which may contain a document or a token.
    private mutating func inner(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let isDocument = bytes.first == UInt8(ascii: "{") || bytes.first == UInt8(ascii: "[")
        let others =
            isDocument ? replacing(bytes, type: "application/json") : SecretContent.tokens(bytes, with: &self)
        return others == bytes ? text : String(decoding: others, as: UTF8.self)
    }

    /// The maximum nesting depth that is scrubbed: the levels of a body that is stored as JSON, plus one for its
    /// scalars.
    static let maximumDepth = RecordedBody.deepestJSON + 1

    // MARK: Secrets

    /// Returns the replacement of a secret. Adds the secret to ``seen`` if it is new, is not shorter than ``shortest``,
    /// cannot be confused with the name of a secret, and there are not too many secrets.
    package mutating func name(of secret: String) -> String { replace(secret) }

    /// Each secret and its replacement. Secrets that are replaced everywhere come first.
    package var replaced: [(secret: String, name: String, isEverywhere: Bool)] {
        let everywhere = ExactSet(seen.lazy.map(\.secret))
        let others = known.all.filter { !everywhere.contains($0.name) }.sorted { $0.name.precedesExactly($1.name) }
        return seen.map { ($0.secret, $0.name, true) } + others.map { ($0.name, $0.value, false) }
    }

    /// Returns true if a binary body contains a secret. ``scrubSeen(_:from:)`` does not replace secrets in binary
    /// bodies.
    package func isSecretInBytes(of exchange: RecordedExchange) -> Bool {
        func isSecret(_ body: RecordedBody?) -> Bool {
            guard case .binary(let bytes) = body else { return false }
            return bytes.withUnsafeReadableBytes { bytes in
                seen.contains { secret, _ in Array(secret.utf8).withUnsafeBytes { bytes.place(of: $0) != nil } }
            }
        }
        return isSecret(exchange.request.body) || isSecret(exchange.response?.body)
            || exchange.response?.messages?.contains { isSecret($0.content.body) } == true
    }

    /// Returns true if the exchange contains one of these words, or cannot be encoded. The words may be too short to be
    /// replaced everywhere.
    package static func hasWord(_ words: [String], in exchange: RecordedExchange) -> Bool {
        func isPart(_ byte: UInt8?) -> Bool {
            byte.map { ASCII.isLetter($0) || ASCII.isDigit($0) || $0 >= 0x80 } ?? false
        }
        guard !words.isEmpty else { return false }
        guard let text = try? Cassette([exchange]).encoded() else { return true }
        return text.withUnsafeReadableBytes { text in
            words.contains { word in
                Array(word.utf8).withUnsafeBytes { word in
                    var start = 0
                    while let found = UnsafeRawBufferPointer(rebasing: text[start...]).place(of: word) {
                        let (first, end) = (start + found, start + found + word.count)
                        let before = first > 0 ? text[first - 1] : nil
                        if !isPart(before), !isPart(end < text.count ? text[end] : nil) { return true }
                        start = first + 1
                    }
                    return false
                }
            }
        }
    }

    private mutating func replace(_ secret: String, always: Bool = false) -> String {
        if isMasking, SecretScrubber.isName(secret) { return Masking.mask }
        // The value was replayed from a cassette and is being recorded again.
        if SecretScrubber.isName(secret) { return secret }
        if let name = known[secret] { return name }
        lastNumber &+= 1
        let name = isMasking ? Masking.mask : SecretScrubber.prefix + String(lastNumber)
        known[secret] = name
        // A secret that, apart from digits at its end, is a part of the prefix is not replaced everywhere, because it
        // would match the names of other secrets.
        let core = secret.utf8.reversed().drop { $0 &- UInt8(ascii: "0") < 10 }.reversed()
        let isPartOfName = !core.isEmpty && SecretScrubber.prefix.contains(String(decoding: Array(core), as: UTF8.self))
        if seen.count < SecretScrubber.maximumSeen, always || secret.utf8.count >= SecretScrubber.shortest,
            !isPartOfName
        {
            seen.append((secret, name))
        }
        return name
    }

    /// Returns true for the name of a scrubbed secret.
    static func isName(_ text: String) -> Bool {
        guard text.utf8.starts(with: prefix.utf8) else { return false }
        let digits = text.utf8.dropFirst(prefix.utf8.count)
        return !digits.isEmpty && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }

    /// Returns the highest number in the names of secrets in a text. 0 if there is none.
    package static func highestNumber(in text: String) -> Int {
        split(text).dropFirst().lazy.compactMap { Int(String(Substring($0.utf8.prefix(while: ASCII.isDigit)))) }.max()
            ?? 0
    }

    private func withoutSeen(_ text: String, _ secrets: ArraySlice<(secret: String, name: String)>) -> String {
        var text = text
        // The longest secrets are replaced first, because one secret may contain another.
        for (secret, name) in secrets.sorted(by: { $0.secret.utf8.count > $1.secret.utf8.count }) {
            text = text.replacing(secret, by: name)
        }
        return isMasking ? text.replacingScrubbedNames(by: Masking.mask) : text
    }
}

extension SecretScrubber: SecretReplacing {
    package var replacesWhole: Bool { false }
    package func isSecret(name: [UInt8]) -> Bool { names.isSecret(member: name, inLogin: inLogin) }
    package func describesSecret(name: [UInt8]) -> Bool { CassetteSecrets.describesSecret(name) }
    package mutating func replacement(for secret: String) -> String? { replace(secret) }
}
