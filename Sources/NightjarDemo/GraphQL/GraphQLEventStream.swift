import NIOCore

/// The results of an operation as server-sent events: the "distinct connections mode" of graphql-sse.
final class GraphQLEventStream: BodySource {
    private let results: GraphQLResults
    private var left: Int?
    private var hasStarted = false
    private var hasEnded = false

    /// - Parameter limit: The number of results before the connection is closed. Nil: all.
    init(_ results: GraphQLResults, limit: Int?) {
        self.results = results
        left = limit
    }

    deinit { results.end() }

    /// Returns the response that this stream sends.
    var response: Response {
        var response = Response(
            .ok, headers: ["Content-Type": "text/event-stream", "Cache-Control": "no-cache"],
            body: .source(self, length: nil))
        response.closesConnection = left != nil
        return response
    }

    /// Returns the events for a request that is not executed.
    static func events(of failures: GraphQL.Executor.Failures) -> ByteBuffer {
        var bytes = event("next", failures.response.formatted())
        bytes.writeImmutableBuffer(event("complete", []))
        return bytes
    }

    func next() -> BodyPart {
        guard hasStarted else {
            hasStarted = true
            return .bytes(ByteBuffer(string: ":\n\n"))
        }
        if left == 0 {
            end()
            return .cut
        }
        if hasEnded { return .end(trailers: nil) }
        switch results.step() {
        case .next(let result):
            left = left.map { $0 - 1 }
            return .bytes(GraphQLEventStream.event("next", result.formatted()))
        case .failed(let errors):
            end()
            let result: JSON = ["errors": errors]
            var bytes = GraphQLEventStream.event("next", result.formatted())
            bytes.writeImmutableBuffer(GraphQLEventStream.event("complete", []))
            return .bytes(bytes)
        case .complete:
            end()
            return .bytes(GraphQLEventStream.event("complete", []))
        case .wait(let pause): return .wait(pause)
        case .idle: return .whenResumed { [results] resume in results.onEvent = resume }
        }
    }

    private func end() {
        hasEnded = true
        results.end()
    }

    /// - Parameter data: JSON without line breaks, or empty.
    private static func event(_ name: String, _ data: [UInt8]) -> ByteBuffer {
        var bytes = ByteBuffer(string: "event: \(name)\ndata: ")
        bytes.writeBytes(data)
        bytes.writeString("\n\n")
        return bytes
    }
}
