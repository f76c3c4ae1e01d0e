import NIOCore

extension PreparedRequest {
    /// ``wireHead`` as an HTTP proxy gets it that opens no tunnel for it: with the whole URL, and with the login. RFC 9112
    /// section 3.2.2.
    ///
    /// Only for http: what the proxy would ask an https origin for in our place is nobody's secret any more.
    public func wireHead(through proxy: ProxyAddress) -> ByteBuffer {
        let origin = url.origin.description
        let methodEnd = method.name.utf8.count + 1
        var head = ByteBufferAllocator().buffer(capacity: wireHead.readableBytes + origin.utf8.count + 64)
        head.writeString(method.name)
        head.writeStaticString(" ")
        head.writeString(origin)
        var rest = self.head
        rest.moveReaderIndex(forwardBy: min(methodEnd, rest.readableBytes))
        head.writeBuffer(&rest)
        if let userInfo = proxy.userInfo {
            head.writeString("Proxy-Authorization: \(userInfo.basicCredentials)\r\n")
        }
        head.writeStaticString("\r\n")
        return head
    }
}
