import NIOCore
import NIOHTTP1

/// Lines of text and JSON values, generated while they are sent. ``PieceSource`` describes the common parameters.
struct Records {
    private static let counts = 0...100_000_000

    func add(to router: inout Router) {
        router.on(.GET, "/lines/{n}", lines)
        router.onAny("/ndjson/{n}", values)
    }

    /// Sends `n` lines. `end` is the line end: `lf`, `crlf`, `cr`, or `none` after the last line. `width` is the number
    /// of bytes of a line.
    private func lines(_ request: Request) throws(Problem) -> Response {
        let count = try request.parameter("n", in: Records.counts)
        let width = try request.query("width", in: 0...(1 << 24), or: 0)
        let style = try request.query("end", oneOf: ["lf", "crlf", "cr", "none"])
        let end = ["lf": "\n", "crlf": "\r\n", "cr": "\r"][style] ?? "\n"
        var number = 0
        let source = try PieceSource(request) {
            guard number < count else { return nil }
            number += 1
            let text = "line \(number)"
            let padding = String(repeating: "x", count: max(0, width - text.utf8.count))
            return text + padding + (style == "none" && number == count ? "" : end)
        }
        return source.response(type: "text/plain")
    }

    /// Sends `n` JSON values: one on each line, or, with `format=seq`, a JSON sequence (RFC 7464). `bad` is the number
    /// of a value that is not JSON.
    private func values(_ request: Request) throws(Problem) -> Response {
        let count = try request.parameter("n", in: Records.counts)
        let bad = try request.query("bad", in: Records.counts, or: 0)
        let isSequence = try request.query("format", oneOf: ["lines", "seq"]) == "seq"
        var number = 0
        let source = try PieceSource(request) {
            guard number < count else { return nil }
            number += 1
            let value = number == bad ? "{\"id\":" : "{\"id\":\(number),\"name\":\"item \(number)\"}"
            return (isSequence ? "\u{1E}" : "") + value + "\n"
        }
        return source.response(type: isSequence ? "application/json-seq" : "application/x-ndjson")
    }
}
