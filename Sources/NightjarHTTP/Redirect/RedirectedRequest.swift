import NIOCore

extension PreparedRequest {
    /// The request that `hop`, the answer to this one, asks for.
    ///
    /// - Parameter sensitive: names of fields that the caller wants treated as credentials.
    public func following(
        _ hop: RedirectHop, sensitive: [String] = []
    ) throws(NightjarError) -> PreparedRequest {
        let fields = self.fields
        let kept = hop.headers(from: fields, sensitive: sensitive)
        let body = hop.keepsBody ? self.body : .none

        var head = ByteBufferAllocator().buffer(capacity: wireHead.readableBytes + hop.url.target.utf8.count)
        head.writeString("\(hop.method.name) \(hop.url.target) HTTP/1.1\r\n")
        // A Host that the caller has set names something within the origin, and is kept there.
        let host = kept["Host"].flatMap { $0 == url.origin.hostField ? nil : $0 } ?? hop.url.origin.hostField
        head.writeString("Host: \(host)\r\n")
        for index in 0..<kept.count {
            kept.withBytes(at: index) { name, value in
                if ASCII.isCaseless(name, "host") || ASCII.isCaseless(name, "content-length")
                    || ASCII.isCaseless(name, "transfer-encoding")
                {
                    return
                }
                HeadWriter.writeField(name, value, into: &head)
            }
        }
        try HeadWriter.writeFraming(of: body, method: hop.method, into: &head)
        head.writeStaticString("\r\n")
        return PreparedRequest(method: hop.method, url: hop.url, body: body, wireHead: head)
    }
}
