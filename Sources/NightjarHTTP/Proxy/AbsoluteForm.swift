import NIOCore

extension PreparedRequest {
    /// Returns ``wireHead`` in absolute form with the proxy's credentials, for an HTTP proxy without a tunnel. RFC 9112
    /// section 3.2.2.
    ///
    /// Used only for http origins, because a proxy must not be able to read requests to https origins.
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
