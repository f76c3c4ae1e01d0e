import NIOCore
import NIOHTTP1

/// `/v1/limited`: accepts `limit` requests in each window of `per` seconds, counted by `group`. Responds to other
/// requests with 429. Used only on the server's event loop.
///
/// A window begins with its first request. `fields` selects the rate limit fields of each response: `draft8` and
/// `draft7` of draft-ietf-httpapi-ratelimit-headers, `x` (X-RateLimit-*, with the reset in seconds since 1970),
/// `x-delta` (with the reset in seconds from now) or `none`. `retry_after` selects the form of Retry-After: `seconds`,
/// `date` or `none`. The time in Retry-After is never before the end of the window.
final class Limits: Resettable {
    private struct Window {
        let start: NIODeadline
        var count = 0
    }

    /// The usage of a window.
    private struct Reading {
        let limit: Int
        let used: Int
        let length: TimeAmount
        /// The time until the end of the window.
        let left: TimeAmount

        var remaining: Int { max(0, limit - used) }
    }

    private static let maximumGroups = 1000

    private let ledger: Ledger
    private var windows = BoundedTable<String, Window>(capacity: Limits.maximumGroups)

    init(ledger: Ledger) {
        self.ledger = ledger
    }

    func add(to router: inout Router) {
        router.onAny("/v1/limited", respond)
    }

    func reset() { windows.removeAll() }

    private func respond(_ request: Request) throws(Problem) -> Response {
        let limit = try request.query("limit", in: 0...1_000_000, or: 10)
        let length = try request.queryDuration("per", atMost: 3600, or: 1)
        let group = request.query("group") ?? "default"
        guard group.utf8.count <= 100, group.utf8.allSatisfy({ (0x20..<0x7F).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { throw Problem.query("group", "must have at most 100 printable ASCII characters, without \" and \\") }
        let fields = try request.query("fields", oneOf: ["draft8", "draft7", "x", "x-delta", "none"])
        let form = try request.query("retry_after", oneOf: ["seconds", "date", "none"])

        let now = NIODeadline.now()
        var window = windows[group] ?? Window(start: now)
        if now >= window.start + length { window = Window(start: now) }
        window.count += 1
        windows.set(window, for: group)
        let reading = Reading(
            limit: limit, used: window.count, length: length, left: window.start + length - now)
        var response: Response
        if reading.used <= limit {
            response = .json(["group": .string(group), "count": .int(reading.used)])
        } else {
            ledger.note { $0.limited += 1 }
            response = Problem(.tooManyRequests, "the limit of \(limit) requests in this window is exceeded").response
            switch form {
            case "seconds": response.headers.add(name: "Retry-After", value: RetryAfter.seconds(reading.left))
            case "date": response.headers.add(name: "Retry-After", value: RetryAfter.date(reading.left))
            default: break
            }
        }
        for (name, value) in Limits.fields(fields, reading, group) { response.headers.add(name: name, value: value) }
        return response
    }

    private static func fields(_ form: String, _ reading: Reading, _ group: String) -> [(String, String)] {
        let (limit, remaining) = (reading.limit, reading.remaining)
        let (window, left) = (RetryAfter.wholeSeconds(reading.length), RetryAfter.wholeSeconds(reading.left))
        switch form {
        case "draft8":
            return [
                ("RateLimit-Policy", "\"\(group)\";q=\(limit);w=\(window)"),
                ("RateLimit", "\"\(group)\";r=\(remaining);t=\(left)"),
            ]
        case "draft7":
            return [
                ("RateLimit-Policy", "\(limit);w=\(window)"),
                ("RateLimit", "limit=\(limit), remaining=\(remaining), reset=\(left)"),
            ]
        case "x", "x-delta":
            let reset = form == "x" ? RetryAfter.unixTime(in: reading.left) : left
            return [
                ("X-RateLimit-Limit", String(limit)), ("X-RateLimit-Remaining", String(remaining)),
                ("X-RateLimit-Reset", String(reset)),
            ]
        default:
            return []
        }
    }
}
