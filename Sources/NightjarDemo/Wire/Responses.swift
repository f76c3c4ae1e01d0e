import NIOCore
import NIOHTTP1

/// Unusual responses: any status, delays, long heads, truncated bodies, closed connections, interim responses.
struct Responses {
    func add(to router: inout Router) {
        router.onAny("/status/{code}", status)
        router.onAny("/delay/{seconds}", delay)
        router.onAny("/close", close)
        router.onAny("/cut-short", truncated)
        router.on(.GET, "/informational", informational)
        router.on(.GET, "/headers/large", largeHeaders)
    }

    /// Responds to any method with the status in the path.
    private func status(_ request: Request) throws(Problem) -> Response {
        let code = try request.parameter("code", in: 200...599)
        let status = HTTPResponseStatus(statusCode: code)
        guard code >= 400 else {
            guard status.mayHaveResponseBody else { return Response(status) }
            return .json(["status": .int(code)], status: status)
        }
        // The fields that RFC 9110 requires for this status.
        let headers: HTTPHeaders =
            switch code {
            case 401: ["WWW-Authenticate": "Basic realm=\"demo\""]
            case 405: ["Allow": ""]
            case 407: ["Proxy-Authenticate": "Basic realm=\"demo\""]
            case 426: ["Upgrade": "HTTP/2.0"]
            default: [:]
            }
        return Problem(status, "this response was requested", headers: headers).response
    }

    /// Responds after the number of seconds in the path.
    private func delay(_ request: Request) throws(Problem) -> Response {
        guard let pause = TimeAmount(secondsText: request.parameters["seconds"] ?? "", atMost: 60) else {
            throw Problem(.notFound, "{seconds} must be a number between 0 and 60")
        }
        var response = Response.json(["delayed": .number(Double(pause.nanoseconds) / 1e9)])
        response.delay = pause
        return response
    }

    /// Sends half of the announced body and closes the connection.
    private func truncated(_ request: Request) throws(Problem) -> Response {
        var response = Response(
            .ok, headers: ["Content-Type": "application/octet-stream"],
            body: .source(PatternSource(length: 512), length: 1024))
        response.closesConnection = true
        return response
    }

    /// Responds and then closes the connection. HTTP/2: sends GOAWAY first, and closes when all streams have ended.
    private func close(_ request: Request) throws(Problem) -> Response {
        var response = Response.json(["connection": .int(request.connection)])
        response.closesConnection = true
        request.origin.stream?.connection.goAway(last: nil, .noError, after: .zero)
        return response
    }

    /// Sends `count` 103 responses (RFC 8297), then the final response.
    private func informational(_ request: Request) throws(Problem) -> Response {
        let count = try request.query("count", in: 0...1000, or: 1)
        var response = Response.json(["hints": .int(count)])
        response.interim = (0..<count).map { index in
            HTTPResponseHead(
                version: .http1_1, status: .custom(code: 103, reasonPhrase: "Early Hints"),
                headers: ["Link": "</style-\(index + 1).css>; rel=preload; as=style"])
        }
        return response
    }

    /// Sends `fields` header fields whose values have `bytes` bytes in total.
    private func largeHeaders(_ request: Request) throws(Problem) -> Response {
        let bytes = try request.query("bytes", in: 0...(16 << 20), or: 65_536)
        let fields = try request.query("fields", in: 1...100_000, or: 1)
        var response = Response.json(["bytes": .int(bytes), "fields": .int(fields)])
        response.headers.reserveCapacity(fields + 4)
        for index in 0..<fields {
            let length = bytes / fields + (index < bytes % fields ? 1 : 0)
            response.headers.add(name: "X-Large-\(index + 1)", value: String(repeating: "a", count: length))
        }
        return response
    }
}
