// Measures the cost of the codec per call, in nanoseconds and allocations. Run by scripts/measure-codec in a release
// build.

import CAllocationCount
import NIOCore
import NightjarHTTP

/// Reports the minimum of seven rounds, because disturbances can only increase a measurement.
@inline(never)
func measure(_ name: String, budget: Int, _ body: () throws -> Void) rethrows {
    let rounds = 7
    let calls = 200_000
    let clock = ContinuousClock()
    var best = Duration.seconds(1000)
    for _ in 0..<1000 { try body() }
    let before = nightjar_allocation_count()
    for _ in 0..<1000 { try body() }
    let allocations = Double(nightjar_allocation_count() - before) / 1000
    for _ in 0..<rounds {
        let start = clock.now
        for _ in 0..<calls { try body() }
        best = min(best, start.duration(to: clock.now))
    }
    let nanoseconds = Double(best.components.attoseconds) / 1e9 / Double(calls)
    let shown = Double(Int(nanoseconds * 10)) / 10
    print("\(name): \(shown) ns (budget \(budget)), \(allocations) allocations")
}

func run() throws {
    let response = ByteBuffer(
        string: """
            HTTP/1.1 200 OK\r
            Server: nginx/1.22.1\r
            Date: Sat, 21 Nov 2026 04:34:40 GMT\r
            Content-Type: application/octet-stream\r
            Content-Length: 1024\r
            Last-Modified: Sat, 21 Nov 2026 04:00:00 GMT\r
            Connection: keep-alive\r
            ETag: "655c2a10-400"\r
            Accept-Ranges: bytes\r
            \r

            """ + String(repeating: "x", count: 1024))
    let chunkedResponse = ByteBuffer(
        string: "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n"
            + String(repeating: "x", count: 1024) + "\r\n0\r\n\r\n")

    var decoder = HTTP1ResponseDecoder()

    func decode(_ wire: ByteBuffer) throws {
        var buffer = wire
        decoder.expectResponse(to: .get)
        while let event = try decoder.next(&buffer) {
            if case .end = event { return }
        }
    }

    func decodeInTwo(_ wire: ByteBuffer, at cut: Int) throws {
        var first = wire
        guard var second = first.getSlice(at: cut, length: first.writerIndex - cut) else { return }
        first.moveWriterIndex(to: cut)
        decoder.expectResponse(to: .get)
        while try decoder.next(&first) != nil {}
        while let event = try decoder.next(&second) {
            if case .end = event { return }
        }
    }

    try measure("decode nginx head and 1 KiB", budget: 600) { try decode(response) }
    try measure("decode the same, head cut in the middle", budget: 1200) { try decodeInTwo(response, at: 130) }
    try measure("decode chunked 1 KiB", budget: 900) { try decode(chunkedResponse) }

    let base = try RequestURL("http://127.0.0.1:8080/v1")
    var defaults = Headers()
    try defaults.add("Accept", "application/json")
    try defaults.add("API-Version", "2")
    let template = try RequestTemplate(base: base, defaults: defaults, userAgent: "nightjar/0.1.0")

    let plain = Request(.get, "/articles/123")
    try measure("prepare GET of a path", budget: 600) { _ = try PreparedRequest(plain, template) }

    var withHeaders = Request(.get, "/articles/123")
    try withHeaders.headers.add("X-Request-ID", "0123456789abcdef")
    try withHeaders.headers.add("Accept", "text/html")
    try measure("prepare with two headers, one in place of a default", budget: 900) {
        _ = try PreparedRequest(withHeaders, template)
    }

    var withQuery = Request(.post, "/articles")
    withQuery.query = [("page", "1"), ("tag", "iOS & Swift")]
    withQuery.body = .bytes(ByteBuffer(string: "{}"))
    try measure("prepare POST with a query and a body", budget: 900) { _ = try PreparedRequest(withQuery, template) }

    let absolute = Request(.get, "http://127.0.0.1:8080/v1/articles/123")
    try measure("prepare GET of an absolute URL", budget: 1500) { _ = try PreparedRequest(absolute, template) }

    let prepared = try PreparedRequest(plain, template)
    measure("show the URL", budget: 200) { _ = prepared.url.redacted }
    try measureWebSocket()
}

/// Measures a text message that is received and sent back. The output buffer is reused, as a connection does.
func measureWebSocket() throws {
    var frame = ByteBuffer(bytes: [0x81, 126, 4, 0])
    frame.writeString(String(repeating: "x", count: 1024))
    var connection = WebSocketConnection(now: 0)
    connection.opened(nil, now: 0)
    var output = ByteBuffer()
    output.reserveCapacity(4096)
    var mask: UInt32 = 1
    try measure("receive and return a WebSocket text of 1 KiB", budget: 400) {
        connection.received(frame, now: 1)
        while let event = connection.next() {
            guard case .message(let message) = event else { continue }
            _ = try connection.send(message)
        }
        output.clear()
        connection.write(into: &output) {
            mask = mask &* 1_664_525 &+ 1_013_904_223
            return mask
        }
    }
}

try run()
