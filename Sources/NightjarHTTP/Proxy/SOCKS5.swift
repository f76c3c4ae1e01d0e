import NIOCore

/// Asks a SOCKS 5 proxy for a connection to an origin. RFC 1928; user name and password by RFC 1929.
///
///     idle ──start──▶ method ──no login──▶ reply ──granted──▶ open
///                       └──login──▶ login ──▲          any ──refused, nonsense, end──▶ failed, for good
public struct SOCKS5: Sendable {
    public enum Action: Equatable, Sendable {
        /// More bytes are needed.
        case wait
        case send(ByteBuffer)
        /// The proxy has connected. What is left in the buffer is for TLS to judge.
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
    /// An answer whose end has not come. Never more than the longest, of 262 bytes.
    private var partial = ByteBuffer()

    /// - Parameter address: the numeric address that the target's name was looked up to; nil leaves that to the proxy.
    public init(to target: Origin, address: String? = nil, through proxy: ProxyAddress) {
        self.target = target
        self.proxy = proxy
        host = address ?? target.host
    }

    public var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    /// The connection to the proxy is open.
    ///
    /// - Returns: what to send.
    /// - Throws: `invalid_url` when user name, password or host do not fit into the protocol.
    public mutating func start() throws(NightjarError) -> ByteBuffer {
        guard case .idle = state else {
            assertionFailure("the handshake has begun")
            throw fail(.connect, "a second SOCKS handshake was to be made on one connection")
        }
        guard host.utf8.count <= 255 else {
            throw fail(.invalidURL, "the host is longer than the 255 bytes that SOCKS 5 has room for")
        }
        if let userInfo = proxy.userInfo {
            let lengths = (userInfo.user.utf8.count, (userInfo.password ?? "").utf8.count)
            guard 1...255 ~= lengths.0, lengths.1 <= 255 else {
                throw fail(
                    .invalidURL,
                    "user name and password for the proxy \(proxy) must have 1 to 255 bytes each: SOCKS 5 has no room "
                        + "for more")
            }
        }
        state = .method
        return proxy.userInfo == nil
            ? ByteBuffer(bytes: [SOCKS5.version, 1, Login.none])
            : ByteBuffer(bytes: [SOCKS5.version, 2, Login.none, Login.password])
    }

    /// Bytes came from the proxy. Consumes those of its answers. To be called again after ``Action/send(_:)``: more may
    /// be there.
    ///
    /// - Throws: `connect` when the proxy refuses, `protocol` when it does not speak SOCKS 5; then the same again.
    public mutating func received(_ buffer: inout ByteBuffer) throws(NightjarError) -> Action {
        switch state {
        case .failed(let error): throw error
        case .open: return .open
        case .idle:
            if buffer.readableBytes == 0 { return .wait }
            throw fail(.protocol, "the proxy \(proxy) spoke before it was asked")
        case .method:
            guard let answer = take(2, from: &buffer) else { return .wait }
            return .send(try chosen(answer))
        case .login:
            guard let answer = take(2, from: &buffer) else { return .wait }
            // The version is 1; some servers write that of SOCKS.
            guard answer[0] == Login.version || answer[0] == SOCKS5.version else { throw nonsense(answer) }
            guard answer[1] == 0 else {
                throw fail(.connect, "the proxy \(proxy) did not accept the user name and password given for it")
            }
            state = .reply
            return .send(request)
        case .reply: return try reply(&buffer)
        }
    }

    /// The proxy closed its side.
    public mutating func endOfStream() -> NightjarError {
        switch state {
        case .failed(let error): return error
        case .open: return fail(.connectionLost, "the proxy \(proxy) closed the connection to \(target.authority)")
        case .login:
            return fail(
                .connect, "the proxy \(proxy) did not accept the user name and password given for it: it hung up")
        case .idle, .method, .reply:
            return fail(
                .connect, "the proxy \(proxy) closed the connection before it had connected to \(target.authority)")
        }
    }

    // MARK: What is sent

    /// RFC 1929 section 2.
    private var login: ByteBuffer {
        var message = ByteBuffer()
        message.writeInteger(Login.version)
        for text in [proxy.userInfo?.user ?? "", proxy.userInfo?.password ?? ""] {
            message.writeInteger(UInt8(truncatingIfNeeded: text.utf8.count))
            message.writeString(text)
        }
        return message
    }

    /// RFC 1928 section 4.
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

    // MARK: What comes

    /// The first `count` bytes of an answer, when they are there.
    private mutating func take(_ count: Int, from buffer: inout ByteBuffer) -> [UInt8]? {
        guard gather(count, from: &buffer) else { return nil }
        defer { partial.clear() }
        return Array(partial.readableBytesView)
    }

    /// Moves bytes into ``partial`` until it has `count`.
    private mutating func gather(_ count: Int, from buffer: inout ByteBuffer) -> Bool {
        let missing = count - partial.readableBytes
        if missing > 0, var part = buffer.readSlice(length: min(missing, buffer.readableBytes)) {
            partial.writeBuffer(&part)
        }
        return partial.readableBytes >= count
    }

    /// RFC 1928 section 3.
    private mutating func chosen(_ answer: [UInt8]) throws(NightjarError) -> ByteBuffer {
        guard answer[0] == SOCKS5.version else { throw nonsense(answer) }
        switch answer[1] {
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
                    ? "the proxy \(proxy) wants a login; give its URL a user name and a password"
                    : "the proxy \(proxy) takes no login by user name and password, and none without one")
        default:
            throw fail(.protocol, "the proxy \(proxy) wants a login (\(answer[1])) that it was not offered")
        }
    }

    /// RFC 1928 section 6.
    private mutating func reply(_ buffer: inout ByteBuffer) throws(NightjarError) -> Action {
        guard gather(2, from: &buffer) else { return .wait }
        let view = partial.readableBytesView
        let (version, code) = (view[view.startIndex], view[view.startIndex + 1])
        guard version == SOCKS5.version else { throw nonsense(Array(view)) }
        // What follows a refusal says nothing, and some proxies leave it out.
        guard code == 0 else { throw refusal(code) }

        // Version, code, a reserved byte, the address's type and its first byte.
        guard gather(5, from: &buffer) else { return .wait }
        let head = Array(partial.readableBytesView)
        let addressLength: Int
        switch head[3] {
        case AddressType.v4: addressLength = 4
        case AddressType.v6: addressLength = 16
        case AddressType.name: addressLength = 1 + Int(head[4])
        default: throw nonsense(head)
        }
        // Where the proxy has connected from is of no use to us.
        guard gather(4 + addressLength + 2, from: &buffer) else { return .wait }
        partial = ByteBuffer()
        // In HTTP the client speaks first, so these would answer a request that nobody has made.
        guard target.isTLS || buffer.readableBytes == 0 else {
            throw fail(.protocol, "bytes came from \(target.authority) through the proxy before anything was sent")
        }
        state = .open
        return .open
    }

    // MARK: Failures

    /// All are failures to connect: whatever the reason, another try, another proxy or another moment may do.
    private mutating func refusal(_ code: UInt8) -> NightjarError {
        let reason =
            switch code {
            case 1: "it has failed, and says no more than that"
            case 2: "its rules do not allow it"
            case 3: "the network cannot be reached from there"
            case 4: "the host cannot be reached or found from there"
            case 5: "the host refused the connection"
            case 6: "the way there is too long or the host did not answer in time (TTL expired)"
            case 7: "it does not make outgoing connections (command not supported)"
            case 8: "it does not know this type of address (IPv6 or a name)"
            default: "it gave the code \(code), which RFC 1928 does not have"
            }
        return fail(
            .connect, "the proxy \(proxy) did not connect to \(target.authority): \(reason)", code: Int32(code))
    }

    private mutating func nonsense(_ bytes: [UInt8]) -> NightjarError {
        let text = bytes.withUnsafeBytes { quoted($0) }
        let hint =
            bytes.starts(with: "HT".utf8) ? "; it seems to be an HTTP proxy, so write http:// before its host" : ""
        return fail(.protocol, "the proxy \(proxy) does not speak SOCKS 5: its answer begins with \(text)\(hint)")
    }

    private mutating func fail(_ kind: ErrorKind, _ message: String, code: Int32 = 0) -> NightjarError {
        let error = NightjarError(kind, message, phase: .connect, code: code)
        state = .failed(error)
        partial = ByteBuffer()
        return error
    }

    // MARK: Numbers of RFC 1928 and RFC 1929

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
