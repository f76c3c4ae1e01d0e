import CDescriptors
import CPlatform
import NIOCore
import NIOPosix
import NightjarHTTP
import NightjarSystem

/// Starts event loops. The descriptors of a loop are created first, because NIO ends the process if it cannot create
/// them.
enum StartedLoop {
    /// Starts an event loop on a new thread.
    ///
    /// - Throws: `connect` with the system's error number if no thread or descriptor is left.
    static func start() throws(NightjarError) -> any EventLoop {
        var descriptors = njd_loop()
        let code = njd_loop_open(&descriptors)
        guard code == 0 else { throw failure("creating an event loop", code) }
        let start = Start(descriptors)
        do throws(ThreadFailure) {
            let thread = try startThread("nightjar") {
                cplatform_set_timer_slack(StartedLoop.timerSlack)
                start.run()
            }
            pthread_detach(thread)
        } catch {
            njd_loop_close(&descriptors)
            throw failure("starting the client's thread", error.code)
        }
        return start.loop()
    }

    private static func failure(_ operation: String, _ code: Int32) -> NightjarError {
        NightjarError(
            .connect, "\(operation) failed: \(String(cString: strerror(code)))", phase: .connect, code: code)
    }

    /// The timer slack in nanoseconds: how much the kernel may delay the thread's timers (PR_SET_TIMERSLACK in
    /// prctl(2)).
    private static let timerSlack: UInt = 1000

    /// Passes the loop from the new thread to the thread that started it.
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
            // `started` is set before the event is signalled, on the only path that signals it.
            return started.unsafelyUnwrapped
        }
    }
}
