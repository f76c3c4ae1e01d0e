/// The fields of a request that frame the message or govern the connection. They are ours to write: a second voice on
/// where a message ends is how requests are smuggled. RFC 9110 section 7.6.1, RFC 9112 section 6.
package enum ReservedField {
    /// Why a caller cannot set the field of this name; nil when it can.
    package static func reason(_ name: UnsafeRawBufferPointer) -> StaticString? {
        switch name.count {
        case 2 where ASCII.isCaseless(name, "te"): "it is the connection's, and trailers need no asking for"
        case 6 where ASCII.isCaseless(name, "expect"): "it takes part in how the body is sent"
        case 7 where ASCII.isCaseless(name, "upgrade"): "it is the connection's, which stays HTTP"
        case 7 where ASCII.isCaseless(name, "trailer"): "it announces trailers, which requests are sent without"
        case 10 where ASCII.isCaseless(name, "connection"): "it is the connection's, which the pool keeps"
        case 10 where ASCII.isCaseless(name, "keep-alive"): "it is the connection's, which the pool keeps"
        case 14 where ASCII.isCaseless(name, "content-length"): "it is written from the body"
        case 16 where ASCII.isCaseless(name, "proxy-connection"): "it is the connection's, which the pool keeps"
        case 17 where ASCII.isCaseless(name, "transfer-encoding"): "it is written from the body"
        case 19 where ASCII.isCaseless(name, "proxy-authorization"):
            "it is the proxy's, and a server could get it; put user name and password into the proxy's URL"
        default: nil
        }
    }

    /// Refuses what a caller cannot set.
    package static func check(_ headers: Headers) throws(NightjarError) {
        for index in 0..<headers.count {
            guard let reason = headers.withBytes(at: index, { name, _ in reason(name) }) else { continue }
            throw NightjarError(.invalidRequest, "header \"\(headers.name(at: index))\" cannot be set: \(reason)")
        }
    }
}
