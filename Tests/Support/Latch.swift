import Glibc
import Synchronization

/// A gate between a test and a peer's script. Once opened, it stays open.
public final class Latch: Sendable {
    /// The read end of a pipe. It reports a hangup when the latch opens, so a thread can poll it together with sockets.
    let descriptor: Int32
    private let writer: Mutex<Int32>

    public init() {
        var ends: [Int32] = [-1, -1]
        let result = pipe(&ends)
        assert(result == 0, "no descriptors left")
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        descriptor = ends[0]
        writer = Mutex(ends[1])
    }

    deinit {
        open()
        _ = Glibc.close(descriptor)
    }

    /// Opens the latch. Any thread may call this method. Later calls have no effect.
    public func open() {
        writer.withLock { writer in
            if writer >= 0 { _ = Glibc.close(writer) }
            writer = -1
        }
    }

    public var isOpen: Bool { writer.withLock { $0 < 0 } }

    /// Blocks until the latch is open.
    public func wait(within limit: Duration = .seconds(5)) throws {
        try eventually("the latch opened", within: limit) { isOpen }
    }
}
