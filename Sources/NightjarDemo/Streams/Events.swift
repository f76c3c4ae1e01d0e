import NIOCore
import NIOHTTP1

/// `/events`: server-sent events with ids, which a client can resume. `/private/events` requires a bearer token.
/// ``PieceSource`` describes the common parameters.
///
/// - `count`: the id of the last event. The default is 10.
/// - `replay`: how many events before the resume cursor are sent again. The default is 0.
/// - `retry`: the `retry` field in milliseconds, sent first.
/// - `drop`: each connection is closed after a random number of bytes from 1 to `drop`. `seed` selects the sequence.
/// - `end`: `204` responds with 204 after the last event has been received; `close` ends the body, so that the client
///   connects again; `hold` keeps the connection open. The default is `204`.
/// - `size`: the number of bytes of the data of each event.
/// - `status`: the status of each response, and `times` the number of requests of `key` that get it.
final class Events: Resettable {
    /// The number of failed requests by key.
    private var failures: [String: Int] = [:]
    /// The number of connections that were closed by `drop`.
    private var drops = 0

    private let tokens: Tokens

    init(tokens: Tokens) { self.tokens = tokens }

    func add(to router: inout Router) {
        router.onAny("/events", respond)
        router.onAny("/private/events", respondToToken)
    }

    func reset() { (failures, drops) = ([:], 0) }

    private func respondToToken(_ request: Request) throws(Problem) -> Response {
        _ = try tokens.bearer(request)
        return try respond(request)
    }

    private func respond(_ request: Request) throws(Problem) -> Response {
        if let failure = try failure(request) { return failure }
        let last = try request.query("count", in: 0...100_000_000, or: 10)
        let replay = try request.query("replay", in: 0...1000, or: 0)
        let size = try request.query("size", in: 0...(1 << 20), or: 0)
        let end = try request.query("end", oneOf: ["204", "close", "hold"])
        let cursor = request.head.headers.first(name: "Last-Event-ID").flatMap { Int($0) } ?? 0
        if cursor >= last, end == "204" { return Response(.noContent) }
        var number = max(0, cursor - replay)
        var hasStarted = false
        let retry = request.query("retry")
        var source = try PieceSource(request) {
            if !hasStarted {
                hasStarted = true
                return retry.map { "retry: \($0)\n\n" } ?? ": demo\n\n"
            }
            guard number < last else { return nil }
            number += 1
            let padding = String(repeating: "x", count: size)
            return "id: \(number)\nevent: tick\ndata: {\"n\":\(number),\"padding\":\"\(padding)\"}\n\n"
        }
        if let dropped = try dropped(request) { source.cut(after: dropped) }
        if end == "hold" { source.holdsOpen = true }
        return source.response(type: "text/event-stream")
    }

    private func failure(_ request: Request) throws(Problem) -> Response? {
        guard request.query("status") != nil, let key = request.query("key") else { return nil }
        let status = try request.query("status", in: 200...599, or: 503)
        let times = try request.query("times", in: 0...1000, or: 1)
        let count = failures[key, default: 0]
        guard count < times else { return nil }
        failures[key] = count + 1
        return Response(HTTPResponseStatus(statusCode: status), headers: ["Content-Type": "text/plain"])
    }

    private func dropped(_ request: Request) throws(Problem) -> Int? {
        guard request.query("drop") != nil else { return nil }
        let most = try request.query("drop", in: 1...(1 << 30), or: 1)
        let seed = try request.query("seed", in: 0...Int.max, or: 0)
        drops += 1
        var random = SplitMix64(seed: UInt64(seed) ^ UInt64(drops) << 32)
        return random.below(most) + 1
    }
}
