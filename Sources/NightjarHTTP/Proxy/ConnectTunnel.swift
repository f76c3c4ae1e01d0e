import NIOCore

/// Requests a tunnel to an origin from an HTTP proxy. RFC 9110 section 9.3.6.
///
///     idle ──start──▶ waiting ──2xx──▶ open
///                        └──other final response, invalid data, end of stream──▶ failed (permanent)
public struct ConnectTunnel: Sendable {
    private enum State {
        case idle
        case waiting
        case open
        case failed(NightjarError)
    }

    /// The maximum size in bytes of the head of the proxy's response.
    private static let maximumHead = 64 * 1024

    private let proxy: ProxyAddress
    private let target: Origin
    private let userAgent: String?
    private var state = State.idle
    private var decoder: HTTP1ResponseDecoder

    /// - Parameter userAgent: the value of the User-Agent field. Nil sends no User-Agent.
    public init(to target: Origin, through proxy: ProxyAddress, userAgent: String? = nil) {
        self.target = target
        self.proxy = proxy
        self.userAgent = userAgent
        var limits = HTTP1ResponseDecoder.Limits()
        limits.maximumHead = ConnectTunnel.maximumHead
        decoder = HTTP1ResponseDecoder(limits: limits)
    }

    public var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// Reports that the connection to the proxy is open.
    ///
    /// - Returns: the bytes to send.
    public mutating func start() throws(NightjarError) -> ByteBuffer {
        guard case .idle = state else {
            assertionFailure("the tunnel has already been started")
            throw fail(.connect, "CONNECT can be sent only once on a connection")
        }
        var request = ByteBuffer()
        // The port is always included, even if it is the default port. RFC 9112 section 3.2.3.
        request.writeString("CONNECT \(target.authority) HTTP/1.1\r\nHost: \(target.authority)\r\n")
        if let userInfo = proxy.userInfo {
            request.writeString("Proxy-Authorization: \(userInfo.basicCredentials)\r\n")
        }
        if let userAgent {
            guard FieldSyntax.isValue(userAgent.utf8) else {
                throw fail(.invalidRequest, "the value of header \"User-Agent\" contains a control character")
            }
            request.writeString("User-Agent: \(userAgent)\r\n")
        }
        request.writeStaticString("\r\n")
        decoder.expectResponse(to: .connect)
        state = .waiting
        return request
    }

    /// Handles bytes from the proxy and consumes the bytes of its response. If the function returns true, the remaining
    /// bytes belong to the tunnel.
    ///
    /// - Returns: true if the tunnel is open.
    /// - Throws: `connect` if the proxy refuses, `protocol` if the bytes are not a valid response or arrive too early,
    ///   `too_large` if the response is too large. Later calls throw the same error.
    public mutating func received(_ buffer: inout ByteBuffer) throws(NightjarError) -> Bool {
        switch state {
        case .failed(let error): throw error
        case .open: return true
        case .idle:
            if buffer.readableBytes == 0 { return false }
            throw fail(.protocol, "the proxy \(proxy) sent data before the request")
        case .waiting: return try read(&buffer)
        }
    }

    private mutating func read(_ buffer: inout ByteBuffer) throws(NightjarError) -> Bool {
        while true {
            let event: HTTP1ResponseDecoder.Event?
            do throws(NightjarError) {
                event = try decoder.next(&buffer)
            } catch {
                throw fail(error.kind, "reading the response of the proxy \(proxy) failed: \(error.message)")
            }
            switch event {
            case nil: return false
            case .informational: continue
            case .head(let head) where (200..<300).contains(head.status):
                // In HTTP, the client sends first. Bytes that arrive before the request belong to no response.
                guard target.isTLS || buffer.readableBytes == 0 else {
                    throw fail(
                        .protocol,
                        "bytes arrived through the tunnel to \(target.authority) before the request was sent")
                }
                state = .open
                return true
            case .head(let head): throw refusal(head)
            case .body, .end: continue
            }
        }
    }

    /// Reports that the proxy closed its side of the connection.
    public mutating func endOfStream() -> NightjarError {
        switch state {
        case .failed(let error): error
        case .idle, .waiting:
            fail(
                .connect, "the proxy \(proxy) closed the connection before it responded to CONNECT \(target.authority)")
        case .open: fail(.connectionLost, "the proxy \(proxy) closed the tunnel to \(target.authority)")
        }
    }

    private mutating func refusal(_ head: ResponseHead) -> NightjarError {
        let status = head.reason.isEmpty ? "\(head.status)" : "\(head.status) \(quoted(head.reason))"
        guard head.status == 407 else {
            return fail(
                .connect, "the proxy \(proxy) did not open a tunnel to \(target.authority): it responded \(status)",
                code: Int32(head.status))
        }
        let error = proxy.authenticationRequired(by: head.headers)
        return fail(error.kind, error.message, code: error.code)
    }

    private mutating func fail(_ kind: ErrorKind, _ message: String, code: Int32 = 0) -> NightjarError {
        let error = NightjarError(kind, message, phase: .connect, code: code)
        state = .failed(error)
        decoder = HTTP1ResponseDecoder()
        return error
    }
}
