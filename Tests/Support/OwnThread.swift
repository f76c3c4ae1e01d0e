import Foundation

/// Runs `body` on a new thread and returns its result.
///
/// All tests share a small thread pool. A test that blocks one of its threads can make other tests time out.
public func onOwnThread<Response: Sendable>(
    _ body: @escaping @Sendable () throws -> Response
) async throws -> Response {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
    }
}
