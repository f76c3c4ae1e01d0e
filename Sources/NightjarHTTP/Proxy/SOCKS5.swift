import NIOCore

/// Requests a connection to an origin from a SOCKS 5 proxy. RFC 1928, with user name and password by RFC 1929.
///
///     idle ──start──▶ method ──no login──▶ reply ──granted──▶ open
///                       └──login──▶ login ──▲          any ──refused, invalid, end──▶ failed (permanent)
public struct SOCKS5: Sendable {
    public enum Action: Equatable, Sendable {
        /// More bytes are needed.
        case wait
        case send(ByteBuffer)
        /// The proxy has connected to the target. The remaining bytes of the buffer come from the target.
        case open
    }

    private enum State {
        case idle
        case method
        case login
        case reply
        case open
        case failed(NightjarError)
    }

    private let proxy: ProxyAddress
    private let target: Origin
    private let host: String
    private var state = State.idle
    /// The beginning of an incomplete reply, at most 262 bytes.
    private var partial = ByteBuffer()

    /// - Parameter address: the numeric address of the target. Nil if the proxy resolves the name.
    public init(to target: Origin, address: String? = nil, through proxy: ProxyAddress) {
        self.target = target
        self.proxy = proxy
        host = address ?? target.host
    }

    public var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// Reports that the connection to the proxy is open.
    ///
    /// - Returns: the bytes to send.
    /// - Throws: `invalid_url` if the host is too long for the protocol, or if the user name or the password is empty or
    ///   too long (RFC 1929 section 2).
    public mutating func start() throws(NightjarError) -> ByteBuffer {
        guard case .idle = state else {
            assertionFailure("the handshake has already been started")
            throw fail(.connect, "the SOCKS handshake can be made only once on a connection")
        }
        guard host.utf8.count <= 255 else {
            throw fail(.invalidURL, "the host is longer than 255 bytes, the maximum of SOCKS 5")
        }
        if let userInfo = proxy.userInfo {
            let lengths = (userInfo.user.utf8.count, (userInfo.password ?? "").utf8.count)
            guard 1...255 ~= lengths.0, 1...255 ~= lengths.1 else {
                throw fail(
                    .invalidURL,
                    "the proxy \(proxy) cannot be used: SOCKS 5 requires a user name and a password of 1 to 255 bytes, "
                        + "got \(lengths.0) and \(lengths.1) bytes")
            }
        }
        state = .method
        return proxy.userInfo == nil
            ? ByteBuffer(bytes: [SOCKS5.version, 1, Login.none])
            : ByteBuffer(bytes: [SOCKS5.version, 2, Login.none, Login.password])
    }

    /// Handles bytes from the proxy and consumes the bytes of its replies. Call this function again after
    /// ``Action/send(_:)``, because the buffer may contain more replies.
    ///
    /// - Throws: `connect` if the proxy refuses, `protocol` if the bytes are not valid SOCKS 5 replies or arrive too
    ///   early. Later calls throw the same error.
    public mutating func received(_ buffer: inout ByteBuffer) throws(NightjarError) -> Action {
        switch state {
        case .failed(let error): throw error
        case .open: return .open
        case .idle:
            if buffer.readableBytes == 0 { return .wait }
            throw fail(.protocol, "the proxy \(proxy) sent data before the request")
        case .method:
            guard let serverReply = take(2, from: &buffer) else { return .wait }
            return .send(try chosen(serverReply))
        case .login:
            guard let serverReply = take(2, from: &buffer) else { return .wait }
            // The version of the login protocol is 1. Some proxies send the SOCKS version instead.
            guard serverReply[0] == Login.version || serverReply[0] == SOCKS5.version else {
                throw malformedReply(serverReply)
            }
            guard serverReply[1] == 0 else {
                throw fail(.connect, "the proxy \(proxy) rejected the user name and password")
            }
            state = .reply
            return .send(request)
        case .reply: return try reply(&buffer)
        }
    }

    /// Reports that the proxy closed its side of the connection.
    public mutating func endOfStream() -> NightjarError {
        switch state {
        case .failed(let error): return error
        case .open: return fail(.connectionLost, "the proxy \(proxy) closed the connection to \(target.authority)")
        case .login:
            return fail(
                .connect, "the proxy \(proxy) closed the connection during the login; check the user name and password")
        case .idle, .method, .reply:
            return fail(
                .connect, "the proxy \(proxy) closed the connection before it had connected to \(target.authority)")
        }
    }

    // MARK: Sending

    /// The message with the user name and password. RFC 1929 section 2.
    private var login: ByteBuffer {
        var message = ByteBuffer()
        message.writeInteger(Login.version)
        for text in [proxy.userInfo?.user ?? "", proxy.userInfo?.password ?? ""] {
            message.writeInteger(UInt8(truncatingIfNeeded: text.utf8.count))
            message.writeString(text)
        }
        return message
    }

    /// The connect request. RFC 1928 section 4.
    private var request: ByteBuffer {
        var message = ByteBuffer(bytes: [SOCKS5.version, SOCKS5.connect, 0])
        if let address = NumericAddress.bytes(host.utf8) {
            message.writeInteger(address.count == 4 ? AddressType.v4 : AddressType.v6)
            message.writeBytes(address)
        } else {
            message.writeInteger(AddressType.name)
            message.writeInteger(UInt8(truncatingIfNeeded: host.utf8.count))
            message.writeString(host)
        }
        message.writeInteger(UInt16(truncatingIfNeeded: target.port))
        return message
    }

    // MARK: Receiving

    /// Returns the first `count` bytes of a reply, or nil if they have not all arrived.
    private mutating func take(_ count: Int, from buffer: inout ByteBuffer) -> [UInt8]? {
        guard readExactly(count, from: &buffer) else { return nil }
        defer { partial.clear() }
        return Array(partial.readableBytesView)
    }

    /// Moves bytes to ``partial`` until it contains `count` bytes. Returns false if more bytes are needed.
    private mutating func readExactly(_ count: Int, from buffer: inout ByteBuffer) -> Bool {
        let missing = count - partial.readableBytes
        if missing > 0, var part = buffer.readSlice(length: min(missing, buffer.readableBytes)) {
            partial.writeBuffer(&part)
        }
        return partial.readableBytes >= count
    }

    /// Handles the selected authentication method. RFC 1928 section 3.
    private mutating func chosen(_ serverReply: [UInt8]) throws(NightjarError) -> ByteBuffer {
        guard serverReply[0] == SOCKS5.version else { throw malformedReply(serverReply) }
        switch serverReply[1] {
        case Login.none:
            state = .reply
            return request
        case Login.password where proxy.userInfo != nil:
            state = .login
            return login
        case Login.refused:
            throw fail(
                .connect,
                proxy.userInfo == nil
                    ? "the proxy \(proxy) requires authentication; add a user name and password to its URL"
                    : "the proxy \(proxy) accepts neither a user name and password nor anonymous access")
        default:
            throw fail(
                .protocol,
                "the proxy \(proxy) selected an authentication method (\(serverReply[1])) that was not offered")
        }
    }

    /// Handles the reply to the connect request. RFC 1928 section 6.
    private mutating func reply(_ buffer: inout ByteBuffer) throws(NightjarError) -> Action {
        guard readExactly(2, from: &buffer) else { return .wait }
        let view = partial.readableBytesView
        let (version, code) = (view[view.startIndex], view[view.startIndex + 1])
        guard version == SOCKS5.version else { throw malformedReply(Array(view)) }
        // After a code other than 0, the rest of the reply has no meaning. Some proxies omit it.
        guard code == 0 else { throw refusal(code) }

        // The version, the code, a reserved byte, the type of the address and the first byte of the address.
        guard readExactly(5, from: &buffer) else { return .wait }
        let head = Array(partial.readableBytesView)
        let addressLength: Int
        switch head[3] {
        case AddressType.v4: addressLength = 4
        case AddressType.v6: addressLength = 16
        case AddressType.name: addressLength = 1 + Int(head[4])
        default: throw malformedReply(head)
        }
        // The reply contains the address from which the proxy connects. The address and the 2-byte port are skipped.
        guard readExactly(4 + addressLength + 2, from: &buffer) else { return .wait }
        partial = ByteBuffer()
        // In HTTP, the client sends first. Bytes that arrive before the request belong to no response.
        guard target.isTLS || buffer.readableBytes == 0 else {
            throw fail(
                .protocol, "bytes arrived from \(target.authority) through the proxy before the request was sent")
        }
        state = .open
        return .open
    }

    // MARK: Failures

    /// Returns the error for a refusal. The kind is always `connect`, because another attempt or another proxy may
    /// succeed.
    private mutating func refusal(_ code: UInt8) -> NightjarError {
        let reason =
            switch code {
            case 1: "general failure"
            case 2: "its rules do not allow the connection"
            case 3: "the network is unreachable from the proxy"
            case 4: "the host is unreachable or unknown from the proxy"
            case 5: "the host refused the connection"
            case 6: "the route is too long or the host did not respond in time (TTL expired)"
            case 7: "it does not make outgoing connections (command not supported)"
            case 8: "it does not support this type of address (a name, IPv4 or IPv6)"
            default: "it returned the code \(code), which RFC 1928 does not define"
            }
        return fail(
            .connect, "the proxy \(proxy) did not connect to \(target.authority): \(reason)", code: Int32(code))
    }

    private mutating func malformedReply(_ bytes: [UInt8]) -> NightjarError {
        let text = bytes.withUnsafeBytes { quoted($0) }
        let hint =
            bytes.starts(with: "HT".utf8) ? "; it appears to be an HTTP proxy; use http:// in its URL" : ""
        return fail(.protocol, "the proxy \(proxy) does not speak SOCKS 5: its reply begins with \(text)\(hint)")
    }

    private mutating func fail(_ kind: ErrorKind, _ message: String, code: Int32 = 0) -> NightjarError {
        let error = NightjarError(kind, message, phase: .connect, code: code)
        state = .failed(error)
        partial = ByteBuffer()
        return error
    }

    // MARK: Constants of RFC 1928 and RFC 1929

    private static let version: UInt8 = 5
    private static let connect: UInt8 = 1

    private enum Login {
        static let none: UInt8 = 0
        static let password: UInt8 = 2
        static let refused: UInt8 = 0xFF
        static let version: UInt8 = 1
    }

    private enum AddressType {
        static let v4: UInt8 = 1
        static let name: UInt8 = 3
        static let v6: UInt8 = 4
    }
}
