import Glibc
import NIOCore

/// Takes secrets out of requests and answers, and puts something else in their place.
///
/// For a file each secret gets a name of its own (`scrubbed-1`), the same wherever it stands, which tells nothing of it: so a
/// token of a replayed answer is a token that can be sent, and two tokens stay two. For comparing, all become `***`, names of
/// a file too, so that what was scrubbed and what is live look alike.
///
/// What was once seen where secrets stand is taken out wherever else it stands.
public struct SecretScrubber: Sendable {
    public enum Style: Sendable {
        /// Numbered from here on.
        case names(after: Int)
        case masked
    }

    private let names: CassetteSecrets
    private let isMasking: Bool
    private var lastNumber: Int
    private var known = ExactDictionary<String>()
    /// Those of ``known`` that are looked for everywhere, in the order in which they were seen.
    public private(set) var seen: [(secret: String, name: String)] = []

    public init(_ names: CassetteSecrets, _ style: Style) {
        self.names = names
        switch style {
        case .masked: (isMasking, lastNumber) = (true, 0)
        case .names(let number): (isMasking, lastNumber) = (false, number)
        }
        for value in names.values where !value.isEmpty { _ = replace(value, always: true) }
    }

    /// What a name of a scrubbed secret begins with.
    public static let prefix = "scrubbed-"
    /// Bytes of a secret that is looked for elsewhere: what is shorter is found in what is none.
    public static let shortest = 6
    /// Secrets that are looked for elsewhere. Each costs a search of each body.
    private static let mostSeen = 500

    // MARK: Messages

    /// - Parameter inLogin: whether the exchange is one of a login; nil: as it looks.
    public mutating func scrub(_ exchange: RecordedExchange, inLogin: Bool? = nil) -> RecordedExchange {
        let inLogin = inLogin ?? isLogin(exchange)
        // Headers first: what they tell is looked for in the URLs and bodies.
        var request = exchange.request
        request.headers = scrub(request.headers)
        request.url = scrub(url: request.url)
        request.body = scrub(request.body, type: request.headers["Content-Type"], inLogin: inLogin)
        var response = exchange.response
        response?.headers = scrub(exchange.response?.headers ?? Headers())
        response?.trailers = scrub(exchange.response?.trailers ?? Headers())
        response?.body = scrub(
            exchange.response?.body ?? .none, type: exchange.response?.headers["Content-Type"], inLogin: inLogin)
        return scrubSeen(RecordedExchange(request, response, exchange.failure))
    }

    /// Takes out what was seen elsewhere.
    ///
    /// - Parameter first: the first of ``seen`` that is to be looked for.
    public func scrubSeen(_ exchange: RecordedExchange, from first: Int = 0) -> RecordedExchange {
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
            exchange.response = response
        }
        if let message = exchange.failure?.message { exchange.failure?.message = plain(message) }
        return exchange
    }

    private func isLogin(_ exchange: RecordedExchange) -> Bool {
        func tells(_ body: RecordedBody, _ type: String?) -> Bool {
            switch body {
            case .json(.object(let members)): return members.contains { CassetteSecrets.isLogin($0.name[...].utf8) }
            case .text(let text) where MediaType(type ?? "")?.essence == FormEncoding.contentType:
                return FormEncoding.decode(text.utf8).contains { CassetteSecrets.isLogin($0.name[...].utf8) }
            default: return false
            }
        }
        return tells(exchange.request.body, exchange.request.headers["Content-Type"])
            || tells(exchange.response?.body ?? .none, exchange.response?.headers["Content-Type"])
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
        default: return names.isSecret(field: name) ? replace(value) : value
        }
    }

    private mutating func cookie(_ pair: Substring) -> String {
        guard let equals = pair.utf8.firstIndex(of: UInt8(ascii: "=")) else { return replace(String(pair)) }
        let value = String(pair[pair.utf8.index(after: equals)...])
        // A server takes a cookie back by setting an empty one.
        return value.isEmpty ? String(pair) : pair[...equals] + replace(value)
    }

    /// Of Basic credentials (RFC 7617), which are their own name for it.
    private mutating func notePassword(_ credentials: String) {
        guard let bytes = Base64.decode(credentials.utf8), let text = String(validating: bytes, as: UTF8.self),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return }
        _ = replace(String(text[text.utf8.index(after: colon)...]))
    }

    /// A URL or something like one: its query and its fragment.
    private mutating func scrub(url: String) -> String {
        var result = ""
        var rest = Substring(url).utf8
        let isItem: (UInt8) -> Bool = { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: "&") }
        let place = rest.prefix { !isItem($0) }
        result += Substring(place)
        rest = rest[place.endIndex...]
        while let separator = rest.first {
            let item = rest.dropFirst().prefix { !isItem($0) }
            rest = rest[item.endIndex...]
            result.unicodeScalars.append(Unicode.Scalar(separator))
            let names = names
            result += self.item(item) { names.isSecret(queryItem: $0) }
        }
        return result
    }

    private mutating func item(_ text: Substring.UTF8View, _ isSecret: (Substring.UTF8View) -> Bool) -> String {
        let name = text.prefix { $0 != UInt8(ascii: "=") }
        guard name.endIndex < text.endIndex, isSecret(name) else { return String(Substring(text)) }
        let value = FormEncoding.decode(text).first?.value ?? ""
        return value.isEmpty ? String(Substring(text)) : Substring(name) + "=" + replace(value)
    }

    private mutating func scrub(_ body: RecordedBody, type: String?, inLogin: Bool) -> RecordedBody {
        let names = names
        switch body {
        case .none, .unkept, .binary: return body
        case .json(let value): return .json(scrub(value, inLogin: inLogin))
        case .text(let text) where MediaType(type ?? "")?.essence == FormEncoding.contentType:
            let items = text.utf8.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
            var scrubbed: [String] = []
            for piece in items {
                scrubbed.append(item(piece) { names.isSecret(member: $0, inLogin: inLogin) })
            }
            return .text(scrubbed.joined(separator: "&"))
        case .text(let text):
            // Lines of JSON, events that carry it, JSON that is written as only its server writes it.
            return .text(
                Masking.json(text, where: { names.isSecret(member: $0, inLogin: inLogin) }) { value in
                    guard case .string(let secret)? = try? JSONValue(parsing: String(decoding: value, as: UTF8.self)),
                        !secret.isEmpty
                    else { return String(decoding: value, as: UTF8.self) }
                    return "\"" + replace(secret) + "\""
                })
        }
    }

    /// Values of members that are secret, and all texts beneath them.
    private mutating func scrub(_ value: JSONValue, inLogin: Bool, beneath: Bool = false, depth: Int = 0) -> JSONValue {
        // Deeper bodies are kept as text, in which members are looked for by name.
        guard depth < SecretScrubber.deepest else { return value }
        switch value {
        case .object(let members):
            return .object(
                members.map { member in
                    let isSecret =
                        names.isSecret(member: member.name[...].utf8, inLogin: inLogin)
                        || beneath && !CassetteSecrets.isAboutSecret(member.name)
                    if isSecret, let number = member.value.numberText {
                        return beneath ? member : .init(member.name, .string(replace(number)))
                    }
                    return .init(
                        member.name, scrub(member.value, inLogin: inLogin, beneath: isSecret, depth: depth + 1))
                })
        case .array(let elements):
            return .array(elements.map { scrub($0, inLogin: inLogin, beneath: beneath, depth: depth + 1) })
        case .string(let text) where beneath && !text.isEmpty: return .string(replace(text))
        default: return value
        }
    }

    /// Levels of JSON with the scalars within: those of a body that is kept as JSON.
    fileprivate static let deepest = RecordedBody.deepestJSON + 1

    // MARK: Secrets

    /// What stands in the place of this secret. From here on it is looked for as one that was seen.
    public mutating func name(of secret: String) -> String { replace(secret) }

    /// Each secret and what stands in its place, those that are looked for everywhere first.
    public var replaced: [(secret: String, name: String, isEverywhere: Bool)] {
        let everywhere = ExactSet(seen.lazy.map(\.secret))
        let others = known.all.filter { !everywhere.contains($0.name) }.sorted { $0.name.isExactly(before: $1.name) }
        return seen.map { ($0.secret, $0.name, true) } + others.map { ($0.name, $0.value, false) }
    }

    /// Whether a body that is no text has a secret in it, which stays there.
    public func isSecretInBytes(of exchange: RecordedExchange) -> Bool {
        func isSecret(_ body: RecordedBody?) -> Bool {
            guard case .binary(let bytes) = body else { return false }
            return bytes.withUnsafeReadableBytes { bytes in
                seen.contains { secret, _ in Array(secret.utf8).withUnsafeBytes { bytes.place(of: $0) != nil } }
            }
        }
        return isSecret(exchange.request.body) || isSecret(exchange.response?.body)
    }

    /// Whether one of these words, which may be too short to be taken out wherever they stand, is in it.
    public static func hasWord(_ words: [String], in exchange: RecordedExchange) -> Bool {
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
        // What was replayed, and is recorded again.
        if SecretScrubber.isName(secret) { return secret }
        if let name = known[secret] { return name }
        lastNumber &+= 1
        let name = isMasking ? Masking.mask : SecretScrubber.prefix + String(lastNumber)
        known[secret] = name
        // What a name has in it is not looked for: it would be found in what stands in the place of others.
        let core = secret.utf8.reversed().drop { $0 &- UInt8(ascii: "0") < 10 }.reversed()
        let isPartOfName = !core.isEmpty && SecretScrubber.prefix.contains(String(decoding: Array(core), as: UTF8.self))
        if seen.count < SecretScrubber.mostSeen, always || secret.utf8.count >= SecretScrubber.shortest, !isPartOfName {
            seen.append((secret, name))
        }
        return name
    }

    /// Whether it is what stands in a secret's place.
    static func isName(_ text: String) -> Bool {
        guard text.utf8.starts(with: prefix.utf8) else { return false }
        let digits = text.utf8.dropFirst(prefix.utf8.count)
        return !digits.isEmpty && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
    }

    /// The highest number in the names of secrets of a text; 0 where there is none.
    public static func highestNumber(in text: String) -> Int {
        split(text).dropFirst().lazy.compactMap { Int(String(Substring($0.utf8.prefix(while: ASCII.isDigit)))) }.max()
            ?? 0
    }

    private func withoutSeen(_ text: String, _ secrets: ArraySlice<(secret: String, name: String)>) -> String {
        var text = text
        // The longest first: one may have another in it.
        for (secret, name) in secrets.sorted(by: { $0.secret.utf8.count > $1.secret.utf8.count }) {
            text = text.replacing(secret, by: name)
        }
        return isMasking ? text.replacingScrubbedNames(by: Masking.mask) : text
    }
}

extension JSONValue {
    fileprivate var numberText: String? {
        switch self {
        case .integer(let number): String(number)
        case .unsigned(let number): String(number)
        default: nil
        }
    }
}

extension RecordedBody {
    /// The same with other texts: names and texts of JSON, or all of a text.
    fileprivate func mapTexts(_ change: (String) -> String) -> RecordedBody {
        switch self {
        case .none, .unkept, .binary: return self
        case .text(let text): return .text(change(text))
        case .json(let value):
            // As a text: what is changed needs no escape, and how deep it nests does not matter.
            guard let encoded = try? value.encoded() else { return self }
            let text = String(buffer: encoded)
            let changed = change(text)
            guard changed != text else { return self }
            // What stands for a number is none: then its texts are changed one by one.
            return .json((try? JSONValue(parsing: changed)) ?? value.mapTexts(change))
        }
    }
}

extension JSONValue {
    /// The same with other names and texts, and a text for each number that is changed.
    fileprivate func mapTexts(_ change: (String) -> String, depth: Int = 0) -> JSONValue {
        guard depth < SecretScrubber.deepest else { return self }
        switch self {
        case .string(let text): return .string(change(text))
        case .array(let elements): return .array(elements.map { $0.mapTexts(change, depth: depth + 1) })
        case .object(let members):
            return .object(members.map { .init(change($0.name), $0.value.mapTexts(change, depth: depth + 1)) })
        default:
            guard let number = numberText else { return self }
            let changed = change(number)
            return changed == number ? self : .string(changed)
        }
    }
}

extension String {
    fileprivate func replacing(_ old: String, by new: String) -> String {
        var (text, old) = (self, old)
        let result = text.withUTF8 { text in
            old.withUTF8 { old -> [UInt8]? in
                var rest = UnsafeRawBufferPointer(text)
                guard var found = rest.place(of: UnsafeRawBufferPointer(old)) else { return nil }
                var result: [UInt8] = []
                while true {
                    result += rest[..<found]
                    result += new.utf8
                    rest = UnsafeRawBufferPointer(rebasing: rest[(found + old.count)...])
                    guard let next = rest.place(of: UnsafeRawBufferPointer(old)) else { break }
                    found = next
                }
                return result + rest
            }
        }
        return result.map { String(decoding: $0, as: UTF8.self) } ?? self
    }

    /// The text with `mask` for each name of a scrubbed secret.
    fileprivate func replacingScrubbedNames(by mask: String) -> String {
        let pieces = SecretScrubber.split(self)
        guard pieces.count > 1 else { return self }
        var result = String(pieces[0])
        for piece in pieces.dropFirst() {
            let rest = piece.utf8.drop { $0 &- UInt8(ascii: "0") < 10 }
            result += (rest.startIndex == piece.startIndex ? SecretScrubber.prefix : mask) + String(Substring(rest))
        }
        return result
    }
}

extension SecretScrubber {
    /// What stands before the first name of a secret, and behind the prefix of each.
    fileprivate static func split(_ text: String) -> [String] {
        var (text, prefix) = (text, prefix)
        return text.withUTF8 { text in
            prefix.withUTF8 { prefix in
                var pieces: [String] = []
                var rest = UnsafeRawBufferPointer(text)
                while let place = rest.place(of: UnsafeRawBufferPointer(prefix)) {
                    pieces.append(String(decoding: rest[..<place], as: UTF8.self))
                    rest = UnsafeRawBufferPointer(rebasing: rest[(place + prefix.count)...])
                }
                return pieces + [String(decoding: rest, as: UTF8.self)]
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Where these bytes first stand.
    fileprivate func place(of bytes: UnsafeRawBufferPointer) -> Int? {
        guard let wanted = bytes.baseAddress, let first = bytes.first else { return nil }
        var place = 0
        while place + bytes.count <= count, let start = baseAddress {
            guard let found = memchr(start + place, Int32(first), count - place - bytes.count + 1) else { return nil }
            place = UnsafeRawPointer(found) - start
            if memcmp(start + place, wanted, bytes.count) == 0 { return place }
            place += 1
        }
        return nil
    }
}
