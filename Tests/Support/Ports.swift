import Glibc
import Synchronization

/// Ports at which connecting fails, each in its way.
public enum Ports {
    /// A port that nobody listens at. Connecting is refused, for it is bound as long as this process lives: one that were
    /// given back, another would get.
    public static func refused() throws -> Int {
        let socket = try Socket.bound()
        held.withLock { $0.append(socket) }
        return socket.port
    }

    /// Several of them, no two the same.
    public static func refused(_ count: Int) throws -> [Int] { try (0..<count).map { _ in try refused() } }

    private static let held = Mutex<[Socket]>([])
}

/// A listener that never accepts and whose queue is full, so that the system drops each further SYN: connecting to it
/// neither succeeds nor fails until the client's own patience ends.
public final class SilentListener: @unchecked Sendable {
    public let port: Int
    private let listener: Socket
    private var fillers: [Int32] = []

    public init() throws {
        listener = try Socket.listening(backlog: 0)
        port = listener.port
        // Linux takes one or two more than the backlog says. A connection that stays in progress shows that it is full.
        for _ in 0..<8 where try fill() { break }
    }

    deinit {
        for descriptor in fillers { _ = close(descriptor) }
    }

    /// - Returns: whether the queue is full.
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
