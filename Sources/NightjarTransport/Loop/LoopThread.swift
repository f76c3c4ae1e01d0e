import CLinux
import Dispatch
import Glibc
import NIOCore
import NIOPosix
import NightjarHTTP
import Synchronization

/// One thread that runs one event loop and takes no signals of the process.
public final class LoopThread: Sendable {
    public let loop: any EventLoop
    public let clock = LoopClock()
    /// Nil: has ended.
    private let thread: Mutex<pthread_t?>
    private let isStopping = Atomic<Bool>(false)

    /// - Throws: `connect` with the system's number when there is no thread or descriptor left.
    public init(name: String = "nightjar") throws(NightjarError) {
        try LoopThread.checkDescriptors()
        let start = Start()
        var thread = pthread_t()
        let failure = withSignalsBlocked { () -> Int32 in
            pthread_create(
                &thread, nil,
                { argument in
                    clinux_set_timer_slack(LoopThread.timerSlack)
                    let start = Unmanaged<Start>.fromOpaque(argument.unsafelyUnwrapped).takeRetainedValue()
                    MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { start.publish($0) }
                    return nil
                }, Unmanaged.passRetained(start).toOpaque())
        }
        guard failure == 0 else {
            Unmanaged.passUnretained(start).release()
            throw NightjarError(
                .connect, "cannot start the client's thread: \(String(cString: strerror(failure)))", code: failure)
        }
        pthread_setname_np(thread, name)
        loop = start.wait()
        self.thread = Mutex(thread)
    }

    deinit {
        if let thread = thread.withLock({ $0.take() }) { pthread_detach(thread) }
    }

    /// Stops the loop and returns when its thread has ended, also where another has stopped it; on that thread itself, at once.
    public func stop() {
        if !isStopping.exchange(true, ordering: .relaxed) {
            loop.shutdownGracefully(queue: LoopThread.farewells) { _ in }
        }
        guard !loop.inEventLoop else { return }
        // The lock is held meanwhile, so that whoever comes second waits too.
        thread.withLock { if let thread = $0.take() { pthread_join(thread, nil) } }
    }

    /// On the thread of a loop, which does nothing else meanwhile.
    public static func rest(_ duration: Duration) {
        var length = timespec(tv_sec: 0, tv_nsec: Int(duration.nanosecondsClamped))
        nanosleep(&length, nil)
    }

    /// In nanoseconds: a rest is to be as long as it says.
    private static let timerSlack: UInt = 1000
    /// Where NIO reports that a loop has stopped; nothing else runs there.
    private static let farewells = DispatchQueue(label: "nightjar.farewells")

    /// Hands the loop from the new thread to the one that made it.
    private final class Start: @unchecked Sendable {
        private var loop: (any EventLoop)?
        private let ready = DispatchSemaphore(value: 0)

        func publish(_ loop: any EventLoop) {
            self.loop = loop
            ready.signal()
        }

        func wait() -> any EventLoop {
            ready.wait()
            // Set before the signal, on the only path that signals.
            return loop.unsafelyUnwrapped
        }
    }

    /// NIO ends the process when it finds no descriptor for its selector, so look first.
    private static func checkDescriptors() throws(NightjarError) {
        var descriptors: [Int32] = []
        defer { for descriptor in descriptors { Glibc.close(descriptor) } }
        for _ in 0..<4 {
            let descriptor = eventfd(0, Int32(EFD_CLOEXEC))
            guard descriptor >= 0 else {
                let code = errno
                throw NightjarError(
                    .connect, "cannot start a client: \(String(cString: strerror(code)))", phase: .connect, code: code)
            }
            descriptors.append(descriptor)
        }
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
