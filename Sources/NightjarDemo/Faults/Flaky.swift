import NIOCore
import NIOHTTP1

/// `/v1/flaky`: fails the first `times` requests with a `key`, then responds with 200. Used only on the server's event
/// loop.
///
/// Failures have `status`. They have Retry-After if `retry_after` (seconds) or `retry_after_date` (seconds from now,
/// sent as a date) is set. With `drop=1`, the connection is closed without a response.
final class Flaky: Resettable {
    /// The requests with one key.
    private struct Attempts {
        var count = 0
        /// The Idempotency-Keys of the first ``Flaky/maximumAttempts`` requests.
        var idempotencyKeys: [JSON] = []
        var bodyLengths: [JSON] = []
    }

    private static let maximumKeys = 1000
    private static let maximumAttempts = 100
    private static let retryAfterLimit = 86_400.0

    private var attempts = BoundedTable<String, Attempts>(capacity: Flaky.maximumKeys)

    func add(to router: inout Router) {
        router.onAny("/v1/flaky", respond)
    }

    func reset() { attempts.removeAll() }

    private func respond(_ request: Request) throws(Problem) -> Response {
        guard let key = request.query("key"), key.utf8.count <= 256 else {
            throw Problem.query("key", "is required and must have at most 256 bytes")
        }
        let times = try request.query("times", in: 0...1_000_000, or: 1)
        let status = try request.query("status", in: 400...599, or: 503)
        let headers = try Flaky.retryAfter(request)
        let idempotencyKey = try request.head.headers.idempotencyKey()
        var now = Attempts()
        attempts.update(key, or: Attempts()) { attempts in
            attempts.count += 1
            if attempts.count <= Flaky.maximumAttempts {
                attempts.idempotencyKeys.append(.optional(idempotencyKey))
                attempts.bodyLengths.append(.int(request.body.readableBytes))
            }
            now = attempts
        }
        guard now.count <= times else {
            return .json([
                "attempt": .int(now.count), "key": .string(key), "idempotency_keys": .array(now.idempotencyKeys),
                "body_bytes": .array(now.bodyLengths),
            ])
        }
        if let drop = request.query("drop"), drop != "0" { return .dropped }
        let detail = "attempt \(now.count) of \(times) that are configured to fail"
        return Problem(HTTPResponseStatus(statusCode: status), detail, headers: headers).response
    }

    private static func retryAfter(_ request: Request) throws(Problem) -> HTTPHeaders {
        if request.query("retry_after") != nil {
            let pause = try request.queryDuration("retry_after", atMost: retryAfterLimit, or: 0)
            return ["Retry-After": RetryAfter.seconds(pause)]
        }
        guard request.query("retry_after_date") != nil else { return [:] }
        let pause = try request.queryDuration("retry_after_date", atMost: retryAfterLimit, or: 0)
        return ["Retry-After": RetryAfter.date(pause)]
    }
}
