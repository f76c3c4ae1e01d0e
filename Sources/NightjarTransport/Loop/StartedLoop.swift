import CDescriptors
import CLinux
import Glibc
import NIOCore
import NIOPosix
import NightjarHTTP

/// Starts event loops. NIO ends the process when it cannot create a loop's descriptors, so they are created before.
enum StartedLoop {
    /// - Throws: `connect` with the system's error number when there is no thread or descriptor left.
    static func start() throws(NightjarError) -> any EventLoop {
        var descriptors = njd_loop()
        let failure = njd_loop_open(&descriptors)
        guard failure == 0 else { throw error("create an event loop", failure) }
        let start = Start(descriptors)
        let code = startDetachedThread {
            pthread_setname_np(pthread_self(), "nightjar")
            clinux_set_timer_slack(StartedLoop.timerSlack)
            start.run()
        }
        guard code == 0 else {
            njd_loop_close(&descriptors)
            throw error("start the client's thread", code)
        }
        return start.loop()
    }

    private static func error(_ operation: String, _ code: Int32) -> NightjarError {
        NightjarError(
            .connect, "cannot \(operation): \(String(cString: strerror(code)))", phase: .connect, code: code)
    }

    /// In nanoseconds: a rest is to be as long as it says.
    private static let timerSlack: UInt = 1000

    /// Hands the loop from the new thread to the one that started it.
    private final class Start: @unchecked Sendable {
        private var descriptors: njd_loop
        private var started: (any EventLoop)?
        private let isReady = OneShotEvent()

        init(_ descriptors: njd_loop) { self.descriptors = descriptors }

        func run() {
            njd_loop_use(&descriptors)
            MultiThreadedEventLoopGroup.withCurrentThreadAsEventLoop { [self] loop in
                njd_loop_created()
                started = loop
                isReady.signal()
            }
        }

        func loop() -> any EventLoop {
            isReady.wait()
            // Set before the event is signaled, on the only path that signals it.
            return started.unsafelyUnwrapped
        }
    }
}
