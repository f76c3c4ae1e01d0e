import CLinux
import Glibc
import NIOCore
import NightjarHTTP
import Synchronization

/// An event loop with a thread of its own, for one client at a time. The thread takes no signals of the process.
///
/// Loops are reused: ``stop()`` parks the loop, and the next client takes it. NIO can end a loop only with the help of a
/// Dispatch thread, and when the system has no thread left, Dispatch waits for one forever.
public final class LoopThread: Sendable {
    public let loop: any EventLoop
    public let clock = LoopClock()
    private let isStopping = Atomic<Bool>(false)
    private let hasStopped = OneShotEvent()

    /// - Throws: `connect` with the system's error number when there is no thread or descriptor left.
    public init() throws(NightjarError) {
        if let parked = ParkedLoops.take() {
            loop = parked
        } else {
            loop = try StartedLoop.start()
        }
    }

    /// Returns when the loop has run all that was submitted before, also when another thread has stopped it; on the loop
    /// itself, at once. Afterwards nothing may be submitted, and the loop has no channel and no timer of the client.
    public func stop() {
        if !isStopping.exchange(true, ordering: .relaxed) {
            loop.execute { [self] in
                ParkedLoops.put(loop)
                hasStopped.signal()
            }
        }
        if !loop.inEventLoop { hasStopped.wait() }
    }

    /// On the thread of a loop, which does nothing else meanwhile.
    public static func rest(_ duration: Duration) {
        var length = timespec(tv_sec: 0, tv_nsec: Int(duration.nanosecondsClamped))
        nanosleep(&length, nil)
    }
}

/// Runs `body` with every signal blocked on this thread, which a thread made in it inherits.
public func withSignalsBlocked<Result>(_ body: () -> Result) -> Result {
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    return body()
}
