import Glibc
import Synchronization

/// Ports that refuse connections.
public enum Ports {
    /// Returns a port without a listener. The port stays bound until this process ends, so no other process can listen
    /// on it.
    public static func refused() throws -> Int {
        let socket = try Socket.bound()
        held.withLock { $0.append(socket) }
        return socket.port
    }

    /// Several different ports.
    public static func refused(_ count: Int) throws -> [Int] { try (0..<count).map { _ in try refused() } }

    private static let held = Mutex<[Socket]>([])
}

/// A listener with a full backlog that never accepts a connection. The kernel drops further SYNs, so connecting to the
/// port neither succeeds nor fails before the client's timeout.
public final class SilentListener: @unchecked Sendable {
    public let port: Int
    private let listener: Socket
    private var fillers: [Int32] = []

    public init() throws {
        listener = try Socket.listening(backlog: 0)
        port = listener.port
        // Linux accepts one or two connections more than the backlog. The first connection that stays in progress shows
        // that the backlog is full.
        for _ in 0..<8 where try fill() { break }
    }

    deinit {
        for descriptor in fillers { _ = close(descriptor) }
    }

    /// Opens one more connection.
    ///
    /// - Returns: True if the backlog is full.
    private func fill() throws -> Bool {
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { throw SocketError.last("socket") }
        fillers.append(descriptor)
        let result = Socket.withAddress(port: port) { connect(descriptor, $0, $1) }
        guard result < 0 else { return false }
        guard errno == EINPROGRESS else { throw SocketError.last("connect") }
        var polled = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return poll(&polled, 1, 50) == 0
    }
}
