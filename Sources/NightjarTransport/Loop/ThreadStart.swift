import CPlatform
import NightjarHTTP
import NightjarSystem

/// Starts a thread that blocks all signals. The caller joins or detaches it.
///
/// - Parameters:
///   - name: At most 15 bytes.
///   - stackSize: In bytes; nil: the system's default.
package func startThread(
    _ name: String, stackSize: Int? = nil, _ body: @escaping @Sendable () -> Void
) throws(ThreadFailure) -> pthread_t {
    let start = Unmanaged.passRetained(ThreadBody(name, body))
    let started = withSignalsBlocked {
        cplatform_start_thread(
            stackSize ?? 0,
            { Unmanaged<ThreadBody>.fromOpaque($0.unsafelyUnwrapped).takeRetainedValue().run() }, start.toOpaque())
    }
    guard started.code == 0 else {
        start.release()
        throw ThreadFailure(code: started.code)
    }
    return started.thread
}

/// The error that is thrown if a thread cannot be started.
package struct ThreadFailure: Error {
    /// The system's error number.
    package let code: Int32

    /// - Parameter operation: The work that needed the thread, for the message: "looking up example.com".
    package func error(_ kind: ErrorKind, _ operation: String) -> NightjarError {
        NightjarError(
            kind, "\(operation) failed: cannot start a thread: \(String(cString: strerror(code)))", code: code)
    }
}

private final class ThreadBody: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    func run() {
        cplatform_name_thread(name)
        body()
    }
}

/// Runs `body` with every signal blocked on this thread. A thread that `body` starts inherits the mask.
public func withSignalsBlocked<Result>(_ body: () -> Result) -> Result {
    var all = sigset_t()
    var previous = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &previous)
    defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }
    return body()
}
