/// The text of an HTTP/1.1 request for a request of HTTP/2, which scripts read.
struct HTTP1RequestText {
    let method: String
    /// Whether the body has chunked coding, because the client has not announced its length.
    let isChunked: Bool
    /// The head.
    let bytes: [UInt8]

    /// - Parameter ends: true if the request has no body.
    init(_ fields: [HTTP2FrameReader.Field], ends: Bool) {
        func pseudo(_ name: String) -> String? { fields.first { $0.name == name }?.value }
        method = pseudo(":method") ?? ""
        let hasLength = fields.contains { $0.name == "content-length" }
        isChunked = !ends && !hasLength
        var lines = ["\(method) \(pseudo(":path") ?? "") HTTP/1.1"]
        if let authority = pseudo(":authority") { lines.append("Host: \(authority)") }
        // RFC 9113 section 8.2.3.
        let cookies = fields.filter { $0.name == "cookie" }.map(\.value).joined(separator: "; ")
        var hasCookies = false
        for field in fields where !field.name.hasPrefix(":") {
            if field.name == "cookie" {
                if !hasCookies { lines.append("Cookie: \(cookies)") }
                hasCookies = true
            } else {
                lines.append("\(HTTP1RequestText.usualCase(field.name)): \(field.value)")
            }
        }
        if isChunked { lines.append("Transfer-Encoding: chunked") }
        bytes = Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    /// Returns part of a body.
    static func part(_ content: [UInt8], isChunked: Bool) -> [UInt8] {
        guard isChunked else { return content }
        guard !content.isEmpty else { return [] }
        return Array("\(String(content.count, radix: 16))\r\n".utf8) + content + HTTP1Fields.lineEnd
    }

    /// Returns the end of a body. Without chunked coding, trailers are dropped.
    static func end(_ trailers: [HTTP2FrameReader.Field], isChunked: Bool) -> [UInt8] {
        guard isChunked else { return [] }
        let lines = trailers.map { "\(usualCase($0.name)): \($0.value)\r\n" }.joined()
        return Array("0\r\n\(lines)\r\n".utf8)
    }

    /// Returns `Content-Type` for `content-type`.
    static func usualCase(_ name: String) -> String {
        name.split(separator: "-", omittingEmptySubsequences: false)
            .map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: "-")
    }
}
