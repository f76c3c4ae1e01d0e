import NIOCore
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

/// Returns a client of an HTTP/2 peer.
func client(of peer: HTTP2Peer, _ configure: (inout Configuration) -> Void = { _ in }) throws -> Client {
    try client(port: peer.port) {
        $0.transport.versions = [.http2]
        configure(&$0)
    }
}

/// Calls that run concurrently.
final class Calls: Sendable {
    private let client: Client
    private let queue = CompletionQueue()
    private let results = Mutex<[String: Result<Response, NightjarError>]>([:])

    init(_ client: Client) { self.client = client }

    @discardableResult
    func start(_ request: Request) throws -> ClientTask {
        let name = request.target
        return try client.start(
            request, on: queue,
            TaskHandlers { _, result in self.results.withLock { $0[name] = result } })
    }

    @discardableResult
    func start(_ target: String) throws -> ClientTask { try start(Request(.get, target)) }

    /// Whether the call has ended and was delivered by a wait for another call.
    func hasEnded(_ target: String) -> Bool { results.withLock { $0[target] != nil } }

    /// Waits until a call has ended, and returns its response.
    func response(_ target: String) throws -> Response { try result(target).get() }

    /// Waits until a call has failed, and returns its error.
    func error(_ target: String) throws -> NightjarError {
        switch try result(target) {
        case .failure(let error): return error
        case .success(let response): throw NightjarError(.closed, "received \(response.status)")
        }
    }

    private func result(_ target: String) throws -> Result<Response, NightjarError> {
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if let result = results.withLock({ $0[target] }) { return result }
            queue.poll(timeout: .milliseconds(100))
        }
        throw NightjarError(.timeout, "\(target) has not ended")
    }
}
