import Glibc
import NIOCore
import NIOPosix
import Synchronization

/// What a host that knows nothing of SwiftNIO expects of its signals.
public enum HostSignals {
    private static let isKept = Mutex(false)

    /// Leaves SIGPIPE as the host has it, although SwiftNIO ignores it for the whole process when it makes its first
    /// socket: that socket is made here, and the disposition put back. Our own threads block the signal, which serves as
    /// well.
    ///
    /// For the faces of the shared library, which carries a SwiftNIO of its own. Not for Swift programs: theirs may be the
    /// same SwiftNIO, and rely on what it does.
    public static func keepSIGPIPE() {
        isKept.withLock { isKept in
            guard !isKept, let thread = try? LoopThread() else { return }
            defer { thread.stop() }
            var ends: [Int32] = [-1, -1]
            guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { return }
            var before = sigaction()
            sigaction(SIGPIPE, nil, &before)
            let done = OneShotEvent()
            ClientBootstrap(group: thread.loop).withConnectedSocket(ends[0]).flatMap { $0.close() }.whenComplete { _ in
                done.signal()
            }
            done.wait()
            sigaction(SIGPIPE, &before, nil)
            Glibc.close(ends[1])
            isKept = true
        }
    }
}
