/// Request fields that a caller cannot set, such as fields that frame the message, control the connection or are meant
/// for the proxy. Contradictory framing enables request smuggling. RFC 9110 section 7.6.1, RFC 9112 section 6.
package enum ReservedField {
    /// Returns the reason why a caller cannot set the field, or nil if the caller can.
    package static func reason(_ name: UnsafeRawBufferPointer) -> StaticString? {
        switch name.count {
        case 2 where ASCII.isCaseless(name, "te"): "it controls the connection, and trailers are accepted without it"
        case 6 where ASCII.isCaseless(name, "expect"): "it controls how the body is sent"
        case 7 where ASCII.isCaseless(name, "upgrade"): "it controls the connection; open a WebSocket instead"
        case 7 where ASCII.isCaseless(name, "trailer"): "it announces trailers, which requests do not have"
        case 10 where ASCII.isCaseless(name, "connection"): "it controls the connection, which the pool manages"
        case 10 where ASCII.isCaseless(name, "keep-alive"): "it controls the connection, which the pool manages"
        case 14 where ASCII.isCaseless(name, "content-length"): "it is derived from the body"
        case 16 where ASCII.isCaseless(name, "proxy-connection"): "it controls the connection, which the pool manages"
        case 17 where ASCII.isCaseless(name, "sec-websocket-key"): "it is random for each connection"
        case 17 where ASCII.isCaseless(name, "transfer-encoding"): "it is derived from the body"
        case 21 where ASCII.isCaseless(name, "sec-websocket-version"): "the version is always 13"
        case 19 where ASCII.isCaseless(name, "proxy-authorization"):
            "it is for the proxy, but a server could receive it; set the user name and password in the proxy's URL"
        default: nil
        }
    }

    /// Checks that a caller can set all `headers`.
    ///
    /// - Throws: `invalid_request` for the first reserved field.
    package static func check(_ headers: Headers) throws(NightjarError) {
        for index in 0..<headers.count {
            guard let reason = headers.withBytes(at: index, { name, _ in reason(name) }) else { continue }
            throw NightjarError(.invalidRequest, "header \"\(headers.name(at: index))\" cannot be set: \(reason)")
        }
    }
}
