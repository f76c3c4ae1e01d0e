import Glibc
import Synchronization

public struct ThreadFailure: Error, CustomStringConvertible {
    public let description: String
}

/// Returns the result of `body` on a thread with a small stack, as some hosts create them. Returns when the thread has
/// ended.
///
/// - Parameter stack: In bytes. Code with a sanitizer uses more stack and gets more.
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

/// Whether this program is built with AddressSanitizer or ThreadSanitizer, whose runtime is then linked.
public let isSanitized = dlsym(nil, "__asan_init") != nil || dlsym(nil, "__tsan_init") != nil

private final class Responder<Response: Sendable>: Sendable {
    let result = Mutex<Result<Response, any Error>?>(nil)
}

private final class ThreadWork: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}
