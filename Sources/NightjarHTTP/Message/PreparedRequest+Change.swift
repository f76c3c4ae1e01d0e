import NIOCore

/// Requests made from others, for the stages of the chain.
///
/// The head is read again from its bytes. That costs a microsecond, and only those calls that need it; keeping the fields
/// apart would cost every call.
extension PreparedRequest {
    /// Whether there is a field of this name.
    public func hasField(_ name: String) -> Bool { fields.firstIndex(of: name) != nil }

    /// The same with one field of this name, in the place of all others of it; nil for none.
    ///
    /// - Throws: `invalid_request` when name or value breaks the grammar.
    public func setting(_ name: String, _ value: String?) throws(NightjarError) -> PreparedRequest {
        var fields = fields
        if let value { try fields.set(name, value) } else { fields.remove(name) }
        var head = ByteBufferAllocator().buffer(capacity: wireHead.readableBytes + (value?.utf8.count ?? 0) + 64)
        head.writeString("\(method.name) \(url.target) HTTP/1.1\r\n")
        for index in 0..<fields.count {
            fields.withBytes(at: index) { HeadWriter.writeField($0, $1, into: &head) }
        }
        head.writeStaticString("\r\n")
        return PreparedRequest(method: method, url: url, body: body, wireHead: head)
    }
}
