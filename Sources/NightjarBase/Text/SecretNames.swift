/// Decides by name which header fields, query items, form items, JSON members, XML elements and log fields contain
/// credentials.
///
/// A name is split into lower-case words at separators and capitals: `X-JWT` becomes `jwt`;
/// `api_key`, `apiKey` and `APIKey2` all become `api key`.
@usableFromInline
package enum SecretNames {
    /// The kind of data that a name labels.
    @usableFromInline
    package enum Place: Sendable {
        /// A header field. More words mark a field name as secret than an item name.
        case field
        /// A query item, a form item, a JSON member, an XML element or a field of a log line.
        case item
    }

    @usableFromInline
    package enum Strength: Sendable, Comparable {
        case none
        /// The name is also used for other data: `code`, `key`. Recordings mask such values only in logins.
        case weak
        case strong
    }

    /// Returns true if a value with this name may be a credential.
    ///
    /// - Parameter name: the name as plain text, without percent-encoding and escapes.
    @inlinable
    package static func isSecret(_ name: some Collection<UInt8>, in place: Place) -> Bool {
        strength(name, in: place) > .none
    }

    @inlinable
    package static func strength(_ name: some Collection<UInt8>, in place: Place) -> Strength {
        // Only the end of a long name is examined, because the last word usually names the value.
        strength(Array(name.dropFirst(max(name.count - longestName, 0))), place)
    }

    @usableFromInline
    package static func strength(_ name: [UInt8], _ place: Place) -> Strength { Words(name).strength(in: place) }

    /// Returns true if the value of a query or form item may be a credential.
    ///
    /// - Parameters:
    ///   - name: the name as written in a URL: `client%5Fsecret`.
    ///   - sensitive: additional names of credentials, unencoded.
    package static func isSecret(item name: Substring.UTF8View, sensitive: [String] = []) -> Bool {
        let plain = PercentEncoding.decoded(name)
        return isSecret(plain, in: .item) || isNamed(plain, in: sensitive)
    }

    /// Returns true if `names` contains `name`, ignoring case and separators.
    @inlinable
    package static func isNamed(_ name: some Collection<UInt8>, in names: [String]) -> Bool {
        guard !names.isEmpty else { return false }
        let plain = letters(name)
        return names.contains { letters($0.utf8) == plain }
    }

    /// Returns the name in lower case without the separators `-`, `_`, `.`, `[`, `]` and space.
    @inlinable
    package static func letters(_ name: some Collection<UInt8>) -> [UInt8] {
        name.lazy.filter { !"-_.[] ".utf8.contains($0) }.map(ASCII.lowercase)
    }

    /// The number of bytes at the end of a name that are examined.
    @usableFromInline package static let longestName = 256
}

extension SecretNames {
    /// The words of a name in lower case. A leading word `x`, a final word `v` (version) and digits at the end of words
    /// are removed.
    private struct Words {
        private(set) var words: [String] = []
        private(set) var joined: [UInt8] = []

        init(_ name: some Collection<UInt8>) {
            let bytes = Array(name)
            var word: [UInt8] = []
            for at in bytes.indices {
                let byte = bytes[at]
                guard Words.isPart(byte) else {
                    add(&word)
                    continue
                }
                if Words.isStart(bytes, at) { add(&word) }
                word.append(ASCII.lowercase(byte))
            }
            add(&word)
            if words.count > 1, words.first == "x" {
                words.removeFirst()
                joined.removeFirst()
            }
            if words.count > 1, words.last == "v" {
                words.removeLast()
                joined.removeLast()
            }
        }

        private mutating func add(_ word: inout [UInt8]) {
            while let last = word.last, ASCII.isDigit(last) { word.removeLast() }
            guard !word.isEmpty else { return }
            words.append(String(decoding: word, as: UTF8.self))
            joined += word
            word.removeAll(keepingCapacity: true)
        }

        private static func isPart(_ byte: UInt8) -> Bool {
            ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte >= 0x80
        }

        private static func isUpper(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "A") < 26 }

        /// Returns true if a word begins at `at` without a separator: the `T` of `accessToken`, the `K` of `APIKey`.
        private static func isStart(_ bytes: [UInt8], _ at: Int) -> Bool {
            guard at > 0, isUpper(bytes[at]) else { return false }
            guard isUpper(bytes[at - 1]) else { return true }
            guard at + 1 < bytes.count else { return false }
            return bytes[at + 1] &- UInt8(ascii: "a") < 26
        }

        func strength(in place: Place) -> Strength {
            guard let last = words.last else { return .none }
            let text = String(decoding: joined, as: UTF8.self)
            if place == .field { return SecretNames.publicFields.contains(text) || !isSecretField ? .none : .strong }
            if SecretNames.descriptions.contains(last) { return .none }
            if words.count == 1, SecretNames.descriptionEndings.contains(where: text.hasSuffix) { return .none }
            if isStrong { return .strong }
            return isWeak(text) ? .weak : .none
        }

        private var isSecretField: Bool {
            isStrong || SecretNames.longInFields.contains(where: isMarked)
                || words.contains { word in
                    SecretNames.fieldWords.contains(word) || word.hasPrefix("auth") && !word.hasPrefix("author")
                }
        }

        private func isMarked(_ marker: [UInt8]) -> Bool {
            guard let first = marker.first, joined.count >= marker.count else { return false }
            return (0...(joined.count - marker.count)).contains { start in
                joined[start] == first && joined[start..<(start + marker.count)].elementsEqual(marker)
            }
        }

        private var isStrong: Bool {
            if SecretNames.long.contains(where: isMarked), !isMarked(SecretNames.secretaryPrefix) { return true }
            for (place, word) in words.enumerated() where isSecret(word, after: place > 0 ? words[place - 1] : "") {
                return true
            }
            let before = words.count > 1 ? words[words.count - 2] : ""
            switch words.last {
            case "sid", "sig": return true
            case "pass", "pin": return words.count > 1
            case "key", "keys": return SecretNames.keyQualifiers.contains(before)
            case "code", "codes": return SecretNames.codeQualifiers.contains(before)
            default: return false
            }
        }

        private func isSecret(_ word: String, after before: String) -> Bool {
            if SecretNames.short.contains(word) || SecretNames.shortEndings.contains(where: word.hasSuffix) {
                return true
            }
            if word.hasSuffix("tokens") {
                let qualifier = word == "tokens" ? before : String(word.dropLast(6))
                return SecretNames.tokenQualifiers.contains(qualifier)
            }
            if word.hasSuffix("token") {
                let qualifier = word == "token" ? before : String(word.dropLast(5))
                return !SecretNames.cursorQualifiers.contains(where: qualifier.hasSuffix)
            }
            return word.hasPrefix("token") && !word.hasPrefix("tokeniz") && !word.hasPrefix("tokens")
        }

        private func isWeak(_ text: String) -> Bool {
            SecretNames.weak.contains(text) || words.contains { SecretNames.weakWords.contains($0) }
        }
    }

    /// Texts that mark a credential anywhere in a name, ignoring word boundaries.
    private static let long: [[UInt8]] = [
        "password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "pwd", "secret", "credential",
        "apikey", "accesskey", "privatekey", "sessionkey", "sharedkey", "masterkey", "authkey", "authtoken",
        "signingkey", "encryptionkey", "sessionid", "sessid", "bearer", "clientassertion", "samlresponse",
        "codeverifier", "authorizationcode",
    ].map { Array($0.utf8) }
    private static let secretaryPrefix = Array("secretar".utf8)
    /// Texts that mark a credential anywhere in a header field name, ignoring word boundaries.
    private static let longInFields: [[UInt8]] = ["token", "authenticat"].map { Array($0.utf8) }
    /// Words that mark a credential at any position of a name.
    private static let short: Set<String> = ["creds", "csrf", "xsrf", "hmac", "cvv", "cvc", "dpop", "assertion"]
    /// Word endings that mark a credential: `pw`, `dbpw`, `totp`.
    private static let shortEndings = ["pw", "otp", "jwt"]
    /// Words that mark a credential at any position of a header field name.
    private static let fieldWords: Set<String> = [
        "authorization", "cookie", "session", "signature", "key", "pass", "pin", "sid", "sig", "ticket", "code",
    ]
    /// Header fields whose names match the rules but whose values are not credentials. `WWW-Authenticate` is not
    /// included, because some challenges contain tokens.
    private static let publicFields: Set<String> = [
        "idempotencykey", "secwebsocketkey", "secwebsocketaccept", "surrogatekey", "publickeypins",
        "accesscontrolallowcredentials", "statuscode", "responsecode", "errorcode",
    ]
    /// Last words of item names that describe a credential but do not contain it: `token_type`.
    private static let descriptions: Set<String> = [
        "type", "url", "uri", "scheme", "expires", "expiry", "expiration", "ttl", "lifetime", "duration", "age",
        "count", "length", "size", "limit", "policy", "hint", "algorithm", "alg", "format", "required", "enabled",
        "status", "at", "in", "on", "method", "endpoint", "name", "strength", "usage", "timeout", "budget",
    ]
    private static let descriptionEndings = [
        "type", "url", "uri", "expires", "expiry", "length", "count", "hint", "policy",
    ]
    private static let keyQualifiers: Set<String> = [
        "account", "admin", "api", "app", "application", "auth", "client", "consumer", "deploy", "dev", "developer",
        "encryption", "functions", "function", "host", "license", "master", "merchant", "private", "secret", "server",
        "service", "session", "shared", "signing", "ssh", "storage", "subscription", "user", "webhook",
    ]
    private static let codeQualifiers: Set<String> = [
        "access", "auth", "authorization", "backup", "login", "mfa", "recovery", "reset", "security", "sms",
        "verification",
    ]
    private static let tokenQualifiers: Set<String> = [
        "access", "api", "auth", "bearer", "csrf", "id", "login", "refresh", "session", "user",
    ]
    /// Words before `token` that indicate a position in a list: `page_token`. Positions are not secret.
    private static let cursorQualifiers = ["page", "next", "continuation", "sync", "skip"]
    private static let weak: Set<String> = ["authorization", "code", "key", "pass", "pin", "ticket"]
    private static let weakWords: Set<String> = ["auth", "cookie", "session", "signature"]
}
