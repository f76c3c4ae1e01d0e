import NIOCore

/// Asks an HTTP proxy for a tunnel to an origin. RFC 9110 section 9.3.6.
///
///     idle ──start──▶ waiting ──2xx──▶ open
///                        └──any other answer, end of stream──▶ failed, for good
public struct ConnectTunnel: Sendable {
    private enum State {
        case idle
        case waiting
        case open
        case failed(NightjarError)
    }

    /// Bytes of a proxy's refusal, its head included, that are read: it says in the first lines why.
    private static let maximumHead = 64 * 1024

    private let proxy: ProxyAddress
    private let target: Origin
    private let userAgent: String?
    private var state = State.idle
    private var decoder: HTTP1ResponseDecoder

    /// - Parameter userAgent: the User-Agent field; nil for none.
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

    /// The connection to the proxy is open.
    ///
    /// - Returns: what to send.
    public mutating func start() throws(NightjarError) -> ByteBuffer {
        guard case .idle = state else {
            assertionFailure("the tunnel has begun")
            throw fail(.connect, "a second CONNECT was to be sent on one connection")
        }
        var request = ByteBuffer()
        // The port always, also the default one: RFC 9112 section 3.2.3.
        request.writeString("CONNECT \(target.authority) HTTP/1.1\r\nHost: \(target.authority)\r\n")
        if let userInfo = proxy.userInfo {
            request.writeString("Proxy-Authorization: \(userInfo.basicCredentials)\r\n")
        }
        if let userAgent {
            guard FieldSyntax.isValue(userAgent.utf8) else {
                throw fail(.invalidRequest, "the value of header \"User-Agent\" holds a control character")
            }
            request.writeString("User-Agent: \(userAgent)\r\n")
        }
        request.writeStaticString("\r\n")
        decoder.expectResponse(to: .connect)
        state = .waiting
        return request
    }

    /// Bytes came from the proxy. Consumes those of its answer; what is left when this returns true is for TLS to judge.
    ///
    /// - Returns: whether the tunnel is open.
    /// - Throws: `connect` when the proxy refuses, `protocol` or `too_large` when it does not speak HTTP; then the same
    ///   again.
    public mutating func received(_ buffer: inout ByteBuffer) throws(NightjarError) -> Bool {
        switch state {
        case .failed(let error): throw error
        case .open: return true
        case .idle:
            if buffer.readableBytes == 0 { return false }
            throw fail(.protocol, "the proxy \(proxy) spoke before it was asked")
        case .waiting: return try read(&buffer)
        }
    }

    private mutating func read(_ buffer: inout ByteBuffer) throws(NightjarError) -> Bool {
        while true {
            let event: HTTP1ResponseDecoder.Event?
            do throws(NightjarError) {
                event = try decoder.next(&buffer)
            } catch {
                throw fail(error.kind, "the proxy \(proxy) did not answer as HTTP asks: \(error.message)")
            }
            switch event {
            case nil: return false
            case .informational: continue
            case .head(let head) where (200..<300).contains(head.status):
                // In HTTP the client speaks first, so these would answer a request that nobody has made.
                guard target.isTLS || buffer.readableBytes == 0 else {
                    throw fail(
                        .protocol, "bytes came through the tunnel to \(target.authority) before anything was sent")
                }
                state = .open
                return true
            case .head(let head): throw refusal(head)
            case .body, .end: continue
            }
        }
    }

    /// The proxy closed its side.
    public mutating func endOfStream() -> NightjarError {
        switch state {
        case .failed(let error): error
        case .idle, .waiting:
            fail(.connect, "the proxy \(proxy) closed the connection before it answered CONNECT \(target.authority)")
        case .open: fail(.connectionLost, "the proxy \(proxy) closed the tunnel to \(target.authority)")
        }
    }

    private mutating func refusal(_ head: ResponseHead) -> NightjarError {
        let status = head.reason.isEmpty ? "\(head.status)" : "\(head.status) \(quoted(head.reason))"
        guard head.status == 407 else {
            return fail(
                .connect, "the proxy \(proxy) opened no tunnel to \(target.authority): it answered \(status)",
                code: Int32(head.status))
        }
        let error = proxy.loginAsked(by: head.headers)
        return fail(error.kind, error.message, code: error.code)
    }

    private mutating func fail(_ kind: ErrorKind, _ message: String, code: Int32 = 0) -> NightjarError {
        let error = NightjarError(kind, message, phase: .connect, code: code)
        state = .failed(error)
        decoder = HTTP1ResponseDecoder()
        return error
    }
}
