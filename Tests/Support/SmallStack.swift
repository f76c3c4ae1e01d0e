import Glibc
import Synchronization

public struct ThreadFailure: Error, CustomStringConvertible {
    public let description: String
}

/// Runs `body` on a new thread with a small stack and returns its result. Some embedders use such threads.
///
/// - Parameter stack: The stack size in bytes. With a sanitizer, the size is multiplied by 4.
public func onThread<Response: Sendable>(stack: Int, _ body: @escaping @Sendable () throws -> Response) throws
    -> Response
{
    let response = Responder<Response>()
    let work = ThreadWork { response.result.withLock { $0 = Result(catching: body) } }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, isSanitized ? 4 * stack : stack)
    let context = Unmanaged.passRetained(work)
    var thread = pthread_t()
    let status = pthread_create(
        &thread, &attributes,
        { context in
            if let context { Unmanaged<ThreadWork>.fromOpaque(context).takeRetainedValue().run() }
            return nil
        }, context.toOpaque())
    guard status == 0 else {
        context.release()
        throw ThreadFailure(description: "creating a thread failed: \(String(cString: strerror(status)))")
    }
    pthread_join(thread, nil)
    guard let result = response.result.withLock({ $0 }) else {
        throw ThreadFailure(description: "the thread ended without a result")
    }
    return try result.get()
}

/// Whether this program is built with AddressSanitizer or ThreadSanitizer.
public let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

private final class Responder<Response: Sendable>: Sendable {
    let result = Mutex<Result<Response, any Error>?>(nil)
}

private final class ThreadWork: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
