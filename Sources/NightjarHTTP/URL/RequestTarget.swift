import NIOCore

/// Builds the path and query of a request line. RFC 9112 section 3.2.1, origin-form.
enum RequestTarget {
    /// The maximum length of a URL in bytes, before and after encoding. Common servers accept between 8 KiB and 64 KiB.
    static let maximumLength = 64 * 1024

    /// Writes `base` and the path of `text`, separated by one slash, then the query of `text` and the items of `query`.
    /// The fragment of `text` is omitted, because fragments are not sent to the server (RFC 9110 section 7.1).
    ///
    /// - Parameters:
    ///   - text: a path, query and fragment as the caller wrote them. Each part may be missing.
    ///   - base: the encoded path to which `text` is appended. May be empty.
    static func write(
        _ text: UnsafeRawBufferPointer, behind base: String, query: [(name: String, value: String)],
        into buffer: inout ByteBuffer
    ) throws(NightjarError) {
        let start = buffer.writerIndex
        var pathEnd = 0
        while pathEnd < text.count, text[pathEnd] != UInt8(ascii: "?"), text[pathEnd] != UInt8(ascii: "#") {
            pathEnd += 1
        }
        let path = UnsafeRawBufferPointer(rebasing: text[..<pathEnd])
        let queryStart = min(pathEnd + 1, text.count)
        var queryEnd = queryStart
        if pathEnd < text.count, text[pathEnd] == UInt8(ascii: "?") {
            while queryEnd < text.count, text[queryEnd] != UInt8(ascii: "#") { queryEnd += 1 }
        }
        let ownQuery = UnsafeRawBufferPointer(rebasing: text[queryStart..<queryEnd])

        buffer.writeString(base)
        if let first = path.first {
            let baseEndsInSlash = base.utf8.last == UInt8(ascii: "/")
            if baseEndsInSlash, first == UInt8(ascii: "/") {
                buffer.moveWriterIndex(to: buffer.writerIndex - 1)
            } else if !baseEndsInSlash, first != UInt8(ascii: "/") {
                buffer.writeInteger(UInt8(ascii: "/"))
            }
            try PercentEncoding.writeTarget(path, into: &buffer)
        } else if base.isEmpty {
            buffer.writeInteger(UInt8(ascii: "/"))
        }

        var separator = UInt8(ascii: "?")
        if !ownQuery.isEmpty {
            buffer.writeInteger(separator)
            try PercentEncoding.writeTarget(ownQuery, into: &buffer)
            separator = UInt8(ascii: "&")
        }
        var needsSeparator = ownQuery.last != UInt8(ascii: "&")
        for item in query {
            // Check the length before the expensive encoding.
            try checkLength(item.name.utf8.count + item.value.utf8.count)
            if needsSeparator { buffer.writeInteger(separator) }
            PercentEncoding.writeComponent(item.name, into: &buffer)
            buffer.writeInteger(UInt8(ascii: "="))
            PercentEncoding.writeComponent(item.value, into: &buffer)
            separator = UInt8(ascii: "&")
            needsSeparator = true
            try checkLength(buffer.writerIndex - start)
        }
        try checkLength(buffer.writerIndex - start)
    }

    static func checkLength(_ count: Int) throws(NightjarError) {
        guard count <= maximumLength else {
            throw NightjarError(
                .invalidURL, "the URL is longer than \(maximumLength) bytes; use a shorter URL")
        }
    }
}
