import Glibc

/// A failed socket call.
public struct SocketError: Error, Equatable, CustomStringConvertible {
    public let call: String
    public let code: Int32

    public init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    public var description: String { "\(call): \(String(cString: strerror(code)))" }

    static func last(_ call: String) -> SocketError { SocketError(call: call, code: errno) }
}

/// A blocking loopback socket with timeouts. Only one thread may use a socket at a time.
public final class Socket: @unchecked Sendable {
    public enum WaitError: Error, Equatable {
        case timedOut
        /// The latch that interrupts this socket's waits has opened.
        case interrupted
    }

    /// POLLRDHUP, which Swift's Glibc module lacks: the peer has closed its half of the connection.
    static let peerEnded: Int32 = 0x2000

    private(set) var descriptor: Int32
    private let interruption: Latch?

    init(descriptor: Int32, interruption: Latch? = nil) {
        self.descriptor = descriptor
        self.interruption = interruption
    }

    deinit { close() }

    // MARK: Creating

    /// Connects to a port of 127.0.0.1.
    public convenience init(connectingTo port: Int, receiveBuffer: Int? = nil) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SocketError.last("socket") }
        self.init(descriptor: descriptor)
        if let receiveBuffer { setOption(SOL_SOCKET, SO_RCVBUF, Int32(receiveBuffer)) }
        setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        let result = Socket.withAddress(port: port) { connect(descriptor, $0, $1) }
        guard result == 0 else { throw SocketError.last("connect") }
    }

    /// - Parameter port: If 0, the system chooses the port.
    static func listening(port: Int = 0, backlog: Int32 = 128, interruption: Latch? = nil) throws -> Socket {
        let listener = try bound(port: port, interruption: interruption)
        guard listen(listener.descriptor, backlog) == 0 else { throw SocketError.last("listen") }
        return listener
    }

    /// Returns a bound socket that does not listen.
    static func bound(port: Int = 0, interruption: Latch? = nil) throws -> Socket {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SocketError.last("socket") }
        let made = Socket(descriptor: descriptor, interruption: interruption)
        made.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
        guard withAddress(port: port, { bind(descriptor, $0, $1) }) == 0 else { throw SocketError.last("bind") }
        return made
    }

    /// Returns a listener on a Unix socket. The socket file is not removed.
    static func listening(path: String, interruption: Latch? = nil) throws -> Socket {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw SocketError.last("socket") }
        let listener = Socket(descriptor: descriptor, interruption: interruption)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw SocketError.last("bind") }
        guard listen(descriptor, 128) == 0 else { throw SocketError.last("listen") }
        return listener
    }

    func accept(interruption: Latch?) throws -> Socket {
        try wait(for: POLLIN, within: nil)
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else { throw SocketError.last("accept") }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        let socket = Socket(descriptor: accepted, interruption: interruption)
        socket.setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    /// The local port.
    public var port: Int {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &length) }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    /// The IPv4 address of the peer.
    var peerAddress: String {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getpeername(descriptor, $0, &length) }
        }
        return withUnsafeBytes(of: address.sin_addr.s_addr) { $0.map { String($0) }.joined(separator: ".") }
    }

    func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    static func withAddress<Result>(
        port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    // MARK: Waiting

    /// Waits for one of `events` (see poll(2)), an error, or the end of the connection.
    ///
    /// - Parameter limit: The timeout, or nil. The interruption latch ends the wait in any case.
    func wait(for events: Int32, within limit: Duration?) throws {
        let end = limit.map { ContinuousClock.now + $0 }
        while true {
            var polled = [pollfd(fd: descriptor, events: Int16(events), revents: 0)]
            if let interruption { polled.append(pollfd(fd: interruption.descriptor, events: 0, revents: 0)) }
            let remaining = end.map { ContinuousClock.now.duration(to: $0) }
            let count = poll(&polled, nfds_t(polled.count), remaining.map(\.pollMilliseconds) ?? -1)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw SocketError.last("poll") }
            if polled.count > 1, polled[1].revents != 0 { throw WaitError.interrupted }
            if polled[0].revents != 0 { return }
            if let remaining, remaining <= .zero { throw WaitError.timedOut }
        }
    }

    // MARK: Sending and receiving

    public func send(_ bytes: Bytes, within limit: Duration = .seconds(10)) throws {
        let end = ContinuousClock.now + limit
        var rest = bytes.array[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes {
                Glibc.send(
                    descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT))
            }
            if sent >= 0 {
                rest = rest.dropFirst(sent)
            } else if errno == EAGAIN {
                try wait(for: POLLOUT, within: ContinuousClock.now.duration(to: end))
            } else if errno != EINTR {
                throw SocketError.last("send")
            }
        }
    }

    /// Returns the next received bytes, at most `count`; empty at the end of the stream.
    public func receive(atMost count: Int = 64 * 1024, within limit: Duration = .seconds(10)) throws -> [UInt8] {
        while true {
            try wait(for: POLLIN, within: limit)
            let bytes = try received(atMost: count)
            if let bytes { return bytes }
        }
    }

    /// Returns all bytes until the peer closes its half.
    public func receiveToEnd(within limit: Duration = .seconds(10)) throws -> [UInt8] {
        var all: [UInt8] = []
        while true {
            let bytes = try receive(within: limit)
            if bytes.isEmpty { return all }
            all += bytes
        }
    }

    /// Returns all bytes up to and including the first occurrence of `mark`.
    public func receive(through mark: Bytes, within limit: Duration = .seconds(10)) throws -> [UInt8] {
        var all: [UInt8] = []
        while all.suffix(mark.array.count) != mark.array[...] {
            let bytes = try receive(atMost: 1, within: limit)
            if bytes.isEmpty { throw SocketError(call: "receive", code: EPIPE) }
            all += bytes
        }
        return all
    }

    /// Returns the received bytes without waiting; nil if there are none, empty at the end of the stream.
    func received(atMost count: Int) throws -> [UInt8]? {
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            let result = recv(descriptor, buffer.baseAddress, count, Int32(MSG_DONTWAIT))
            failure = result < 0 ? errno : 0
            filled = max(0, result)
        }
        if failure == EAGAIN || failure == EINTR { return nil }
        guard failure == 0 else { throw SocketError(call: "recv", code: failure) }
        return bytes
    }

    // MARK: Ending

    /// Closes the local half of the connection (FIN) and leaves the peer's half open.
    public func shutdownOutput() {
        _ = shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Closes with a FIN. Received data is read first, because unread data would cause a reset.
    public func close() {
        guard descriptor >= 0 else { return }
        while let bytes = try? received(atMost: 64 * 1024), !bytes.isEmpty {}
        _ = Glibc.close(descriptor)
        descriptor = -1
    }

    /// Closes with an RST.
    public func reset() {
        guard descriptor >= 0 else { return }
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}

extension Duration {
    /// The duration in milliseconds, rounded up. Rounding down would let a wait spin before its deadline.
    var pollMilliseconds: Int32 {
        let (seconds, attoseconds) = components
        let milliseconds = seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(clamping: max(0, milliseconds))
    }
}
