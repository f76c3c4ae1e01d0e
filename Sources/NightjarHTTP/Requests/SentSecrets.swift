import NIOCore

/// The credentials of a request that are masked in text from the server, because some servers repeat parts of the
/// request.
struct SentSecrets {
    /// The credentials, longest first, because a credential may contain another.
    private var values: [[UInt8]] = []

    var isEmpty: Bool { values.isEmpty }

    /// The minimum length in bytes of a credential that is masked. Shorter credentials occur in many words.
    private static let shortest = 5
    /// The minimum length in bytes of a cookie or query value that is masked. Longer than ``shortest``, because such
    /// values are often ordinary words.
    private static let shortestOther = 8
    /// The maximum size in bytes of a body that is examined.
    private static let maximumBody = 64 * 1024

    init(_ request: PreparedRequest) {
        let fields = request.fields
        for index in 0..<fields.count {
            let name = fields.name(at: index)
            let value = fields.withBytes(at: index) { _, value in String(decoding: value, as: UTF8.self) }
            let isNamed = request.sensitive.contains { ASCII.equalIgnoringCase($0.utf8, name.utf8) }
            let isOne = fields.withBytes(at: index) { SecretNames.isSecret(field: $0, $1) }
            if isNamed || isOne { add(field: name, value) }
        }
        for part in request.url.queryParts where request.url.isSecret(part) {
            add(PercentEncoding.decoded(RequestURL.valueOf(part)), atLeast: SentSecrets.shortestOther)
            add(Array(RequestURL.valueOf(part)), atLeast: SentSecrets.shortestOther)
        }
        addBody(of: request)
        values.sort { $0.count > $1.count }
    }

    private mutating func add(field name: String, _ value: String) {
        if ASCII.equalIgnoringCase(name.utf8, "cookie".utf8) {
            for pair in value.utf8.split(separator: UInt8(ascii: ";")) {
                let secret = pair.drop { $0 != UInt8(ascii: "=") }.dropFirst()
                add(Array(secret), atLeast: SentSecrets.shortestOther)
            }
            return
        }
        let bytes = Array(value.utf8)
        add(bytes, atLeast: SentSecrets.shortest)
        if ASCII.equalIgnoringCase(name.utf8, "sec-websocket-protocol".utf8) {
            for token in SecretNames.tokens(subprotocols: bytes) { add(token, atLeast: SentSecrets.shortest) }
            return
        }
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")) else { return }
        let token = Array(bytes[(space + 1)...])
        add(token, atLeast: SentSecrets.shortest)
        // For Basic, also add the password. RFC 7617 section 2.
        guard ASCII.equalIgnoringCase(bytes[..<space], "basic".utf8), let pair = Base64.decode(token),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return }
        add(Array(pair[(colon + 1)...]), atLeast: SentSecrets.shortest)
    }

    /// Adds the secrets in the body, such as a password or the client secret and tokens of a token request.
    private mutating func addBody(of request: PreparedRequest) {
        guard case .bytes(let body) = request.body, body.readableBytes <= SentSecrets.maximumBody else { return }
        var found = Found(sensitive: request.sensitive)
        _ = SecretContent.replacing(
            Array(body.readableBytesView), type: request.fields["Content-Type"], with: &found)
        for value in found.values { add(Array(value.utf8), atLeast: SentSecrets.shortest) }
    }

    /// Collects the secrets of a body without changing it.
    private struct Found: SecretReplacing {
        let sensitive: [String]
        var values: [String] = []
        var replacesWhole: Bool { false }

        func isSecret(name: [UInt8]) -> Bool {
            SecretNames.isSecret(name, in: .item) || SecretNames.isNamed(name, in: sensitive)
        }

        mutating func replacement(for secret: String) -> String? {
            values.append(secret)
            return secret
        }
    }

    private mutating func add(_ value: [UInt8], atLeast length: Int) {
        if value.count >= length, !values.contains(value) { values.append(value) }
    }

    /// Returns the text with `***` in place of each credential.
    func masking(_ text: String) -> String {
        guard values.contains(where: { SentSecrets.find($0, in: Array(text.utf8), from: 0) != nil }) else {
            return text
        }
        var bytes = Array(text.utf8)
        for value in values {
            var at = 0
            while let found = SentSecrets.find(value, in: bytes, from: at) {
                bytes.replaceSubrange(found..<(found + value.count), with: Masking.mask.utf8)
                at = found + Masking.mask.utf8.count
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func find(_ value: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard let first = value.first, bytes.count >= value.count else { return nil }
        var at = start
        while at <= bytes.count - value.count {
            if bytes[at] == first, bytes[at..<(at + value.count)].elementsEqual(value) { return at }
            at += 1
        }
        return nil
    }
}
