import NIOCore
import NIOPosix
import NightjarSystem
import Synchronization

/// Preserves the SIGPIPE disposition of the host process.
public enum HostSignals {
    private static let isKept = Mutex(false)

    /// Preserves the host's SIGPIPE disposition. SwiftNIO ignores SIGPIPE for the whole process when it creates its
    /// first socket. This function creates that socket and restores the disposition. The library's own threads block
    /// the signal instead.
    ///
    /// Used by the shared library, which contains its own SwiftNIO. Must not be used in Swift programs, which may share
    /// the same SwiftNIO and rely on its behaviour.
    public static func keepSIGPIPE() {
        isKept.withLock { isKept in
            guard !isKept, let thread = try? LoopThread() else { return }
            defer { thread.stop() }
            var ends: [Int32] = [-1, -1]
            guard socketpair(AF_UNIX, streamSocket, 0, &ends) == 0 else { return }
            var before = sigaction()
            sigaction(SIGPIPE, nil, &before)
            let done = OneShotEvent()
            ClientBootstrap(group: thread.loop).withConnectedSocket(ends[0]).flatMap { $0.close() }.whenComplete { _ in
                done.signal()
            }
            done.wait()
            sigaction(SIGPIPE, &before, nil)
            NightjarSystem.close(ends[1])
            isKept = true
        }
    }
}
