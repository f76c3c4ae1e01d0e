import NIOCore

/// The credentials of a request, to mask them in text that the server wrote: some servers repeat what they were sent.
struct SentSecrets {
    /// Longest first, because one may be part of another.
    private var values: [[UInt8]] = []

    var isEmpty: Bool { values.isEmpty }

    /// Bytes of the shortest credential that is looked for: shorter ones are part of many words. Cookies and query items are
    /// often settings and no credentials.
    private static let shortest = 5
    private static let shortestOther = 8
    /// Bytes of a form that is read.
    private static let maximumForm = 64 * 1024

    init(_ request: PreparedRequest) {
        let fields = request.fields
        for index in 0..<fields.count {
            let name = fields.name(at: index)
            let value = fields.withBytes(at: index) { _, value in String(decoding: value, as: UTF8.self) }
            let isNamed = request.sensitive.contains { ASCII.equalIgnoringCase($0.utf8, name.utf8) }
            let isOne = fields.withBytes(at: index) { name, _ in CredentialField.isOne(name) }
            if isNamed || isOne { add(field: name, value) }
        }
        for part in request.url.queryParts where request.url.isSecret(part) {
            add(PercentEncoding.decoded(RequestURL.valueOf(part)), atLeast: SentSecrets.shortestOther)
            add(Array(RequestURL.valueOf(part)), atLeast: SentSecrets.shortestOther)
        }
        addForm(of: request)
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
        guard let space = bytes.firstIndex(of: UInt8(ascii: " ")) else { return }
        let token = Array(bytes[(space + 1)...])
        add(token, atLeast: SentSecrets.shortest)
        // Basic: the password alone, too. RFC 7617 section 2.
        guard ASCII.equalIgnoringCase(bytes[..<space], "basic".utf8), let pair = Base64.decode(token),
            let colon = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return }
        add(Array(pair[(colon + 1)...]), atLeast: SentSecrets.shortest)
    }

    /// The client secret and the tokens of a request for a token.
    private mutating func addForm(of request: PreparedRequest) {
        guard case .bytes(let body) = request.body, body.readableBytes <= SentSecrets.maximumForm,
            let type = request.fields["Content-Type"].flatMap(MediaType.init), type.essence == FormEncoding.contentType
        else { return }
        for item in String(buffer: body).split(separator: "&") {
            let name = item.utf8.prefix { $0 != UInt8(ascii: "=") }
            guard Redaction.isSecret(name: name, sensitive: request.sensitive) else { continue }
            let value = item.utf8[name.endIndex...].dropFirst().map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
            add(PercentEncoding.decoded(value), atLeast: SentSecrets.shortest)
        }
    }

    private mutating func add(_ value: [UInt8], atLeast length: Int) {
        if value.count >= length, !values.contains(value) { values.append(value) }
    }

    /// The text with `***` in place of each credential.
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
