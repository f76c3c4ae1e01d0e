import Foundation

/// Returns the result of `body`, which runs on a thread of its own. A test that blocks would otherwise occupy one of the
/// few threads on which all tests run, and the time limits of other tests would be exceeded meanwhile.
public func onOwnThread<Response: Sendable>(
    _ body: @escaping @Sendable () throws -> Response
) async throws -> Response {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
