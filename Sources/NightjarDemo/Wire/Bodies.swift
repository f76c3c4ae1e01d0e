import NIOCore
import NIOHTTP1

/// Bodies of any length and rate, generated while they are sent.
struct Bodies {
    /// The allowed lengths in bytes, up to 1 TiB. Sums of these lengths do not overflow.
    private static let lengths = 0...(1 << 40)

    /// The longest pause between two pieces, in seconds.
    private static let maximumPause = 60.0

    func add(to router: inout Router) {
        router.on(.GET, "/bytes/{n}", bytes)
        router.on(.GET, "/stream/{n}", stream)
        router.on(.GET, "/drip", drip)
        router.on(.GET, "/trailers", trailers)
    }

    /// Sends `n` bytes with Content-Length, as fast as the client accepts them.
    private func bytes(_ request: Request) throws(Problem) -> Response {
        let length = try request.parameter("n", in: Bodies.lengths)
        return binary(.source(PatternSource(length: length), length: length))
    }

    /// Sends `n` bytes in chunks of `chunk` bytes, `delay` seconds apart.
    private func stream(_ request: Request) throws(Problem) -> Response {
        let length = try request.parameter("n", in: Bodies.lengths)
        let chunk = try request.query("chunk", in: 1...DemoContent.period, or: 4096)
        let pause = try request.queryDuration("delay", atMost: Bodies.maximumPause, or: 0)
        return binary(.source(PatternSource(length: length, chunk: chunk, pause: pause), length: nil))
    }

    /// Sends `bytes` bytes with Content-Length, one at a time, `delay` seconds apart.
    private func drip(_ request: Request) throws(Problem) -> Response {
        let length = try request.query("bytes", in: Bodies.lengths, or: 10)
        let pause = try request.queryDuration("delay", atMost: Bodies.maximumPause, or: 0.1)
        return binary(.source(PatternSource(length: length, chunk: 1, pause: pause), length: length))
    }

    /// Sends `bytes` bytes in chunks, with their length and CRC-32 in the trailer section.
    private func trailers(_ request: Request) throws(Problem) -> Response {
        let length = try request.query("bytes", in: 0...(1 << 20), or: 1024)
        let source = PatternSource(length: length, chunk: 256) {
            var checksum = CRC32()
            for offset in stride(from: 0, to: length, by: DemoContent.period) {
                checksum.update(DemoContent.slice(at: offset, count: min(DemoContent.period, length - offset)))
            }
            return [("X-Length", String(length)), ("X-CRC32", checksum.text)]
        }
        var response = binary(.source(source, length: nil))
        response.headers.add(name: "Trailer", value: "X-Length, X-CRC32")
        return response
    }

    private func binary(_ body: Response.Body) -> Response {
        Response(.ok, headers: ["Content-Type": "application/octet-stream"], body: body)
    }
}
