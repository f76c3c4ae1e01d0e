import NIOCore
import NightjarHTTP
import NightjarSystem
import Synchronization

/// The event loop of one client, on a dedicated thread that blocks all signals. Clients may share the thread.
///
/// Loops are reused: ``stop()`` parks the loop, and the next client takes it. NIO needs a Dispatch thread to end a
/// loop, and Dispatch waits forever if the system has no thread left.
public final class LoopThread: Sendable {
    public let loop: any EventLoop
    public let clock: LoopClock
    /// Nil: one client uses the thread.
    private let shared: SharedLoop?
    private let isStopping = Atomic<Bool>(false)
    private let hasStopped = OneShotEvent()

    /// Takes a parked loop, or starts a new loop.
    ///
    /// - Parameter name: The name of a loop that this process shares; nil: a loop for one client.
    /// - Throws: `connect` with the system's error number if no thread or descriptor is left.
    public init(sharedAs name: String? = nil) throws(NightjarError) {
        if let name {
            let shared = try SharedLoops.join(name)
            self.shared = shared
            loop = shared.loop
            clock = shared.clock
        } else {
            shared = nil
            loop = try ParkedLoops.takeOrStart()
            clock = LoopClock()
        }
    }

    public var isShared: Bool { shared != nil }

    /// Parks the loop, unless other clients share it. Returns when the loop has run all work that was submitted before,
    /// even if another thread calls this method concurrently. On the loop, returns immediately.
    ///
    /// Before the call, the caller must close the client's channels and cancel its timers. The caller must not
    /// submit work afterwards.
    public func stop() {
        if !isStopping.exchange(true, ordering: .relaxed) {
            loop.execute { [self] in
                if let shared { return SharedLoops.leave(shared) { hasStopped.signal() } }
                let isParked = ParkedLoops.put(loop)
                hasStopped.signal()
                if !isParked { ParkedLoops.end(loop) }
            }
        }
        if !loop.inEventLoop { hasStopped.wait() }
    }

    /// Blocks the calling thread for `duration`, which must be shorter than one second.
    public static func sleep(_ duration: Duration) {
        var length = timespec(tv_sec: 0, tv_nsec: Int(duration.nanosecondsClamped))
        nanosleep(&length, nil)
    }
}
