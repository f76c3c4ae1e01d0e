import NIOCore

/// Computes the Authorization field of one request. RFC 7616 section 3.4.
struct DigestResponse {
    let challenge: DigestChallenge
    /// The nonce of the challenge, or the nextnonce that replaced it.
    let nonce: String
    let count: UInt32
    let clientNonce: String
    let user: String
    /// H(A1) as hexadecimal digits.
    let key: String
    let hash: ([UInt8]) -> [UInt8]

    /// Returns the value of the Authorization field, or nil if a parameter is not valid in a field value.
    func value(method: Method, target: String, body: [UInt8]) -> String? {
        var text = "Digest \(userParameter), realm=\(quotedString(challenge.realm)), uri=\(quotedString(target))"
        if let name = challenge.algorithmName { text += ", algorithm=\(name)" }
        text += ", nonce=\(quotedString(nonce))"
        if let protection = challenge.protection {
            text += ", nc=\(counter), cnonce=\(quotedString(clientNonce)), qop=\(protection.rawValue)"
        }
        text += ", response=\"\(response(method.name, target: target, body: body))\""
        if let opaque = challenge.opaque { text += ", opaque=\(quotedString(opaque))" }
        if challenge.hashesUser { text += ", userhash=true" }
        return FieldSyntax.isValue(text.utf8) ? text : nil
    }

    /// Returns the rspauth value that a server with the password sends, for the protection auth. Section 3.5.
    func proof(target: String) -> String { response("", target: target, body: []) }

    /// Returns the response digest. Section 3.4.1.
    private func response(_ method: String, target: String, body: [UInt8]) -> String {
        var request = "\(method):\(target)"
        if challenge.protection == .body { request += ":" + Hexadecimal.encode(hash(body)) }
        let what = DigestResponse.digest(request, hash)
        guard let protection = challenge.protection else {
            return DigestResponse.digest("\(key):\(nonce):\(what)", hash)
        }
        return DigestResponse.digest(
            "\(key):\(nonce):\(counter):\(clientNonce):\(protection.rawValue):\(what)", hash)
    }

    /// Returns H(A1). Section 3.4.2.
    static func key(
        _ challenge: DigestChallenge, user: String, password: String, clientNonce: String,
        hash: ([UInt8]) -> [UInt8]
    ) -> String {
        let login = digest("\(user):\(challenge.realm):\(password)", hash)
        return challenge.isSession ? digest("\(login):\(challenge.nonce):\(clientNonce)", hash) : login
    }

    private static func digest(_ text: String, _ hash: ([UInt8]) -> [UInt8]) -> String {
        Hexadecimal.encode(hash(Array(text.utf8)))
    }

    /// The user name, hashed as in section 3.4.4, or encoded as in RFC 8187 if it is not printable ASCII.
    private var userParameter: String {
        if challenge.hashesUser {
            return "username=\"\(DigestResponse.digest("\(user):\(challenge.realm)", hash))\""
        }
        if user.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return "username=\(quotedString(user))" }
        return "username*=UTF-8''" + PercentEncoding.component(user)
    }

    private var counter: String {
        let digits = String(count, radix: 16)
        return String(repeating: "0", count: max(8 - digits.count, 0)) + digits
    }
}

extension PercentEncoding {
    /// Percent-encodes a string for an extended parameter. RFC 8187 section 3.2.1.
    fileprivate static func component(_ text: String) -> String {
        var buffer = ByteBuffer()
        writeComponent(text, into: &buffer)
        return String(buffer: buffer)
    }
}

/// Quotes a string. RFC 9110 section 5.6.4.
private func quotedString(_ text: String) -> String {
    var bytes = [UInt8(ascii: "\"")]
    for byte in text.utf8 {
        if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
        bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
    return String(decoding: bytes, as: UTF8.self)
}
