import NIOCore
import NightjarHTTP

/// Responds to requests from a cassette. Each exchange is played once, unless the last exchange for a request is
/// repeated. Exchanges with equal requests are played in the order of recording.
package struct CassettePlayer: Sendable {
    package enum Verdict: Sendable {
        case play(RecordedExchange)
        /// No exchange matches, or all matching exchanges have been played.
        case missing(NightjarError)
    }

    private let comparison: CassetteComparison
    private let repeats: Bool
    private let file: String
    private var scrubber: SecretScrubber
    private var exchanges: [RecordedExchange] = []
    private var keys: [CassetteComparison.Key] = []
    private var places: [CassetteComparison.Key: [Int]] = [:]
    /// The exchanges whose request body was not stored. Their keys match requests with any body.
    private var inexactMatches: [CassetteComparison.Key: [Int]] = [:]
    private var played: [CassetteComparison.Key: Int] = [:]
    private var uses: [Int]

    /// - Parameters:
    ///   - repeats: true if the last exchange for a request is played repeatedly.
    ///   - file: the file name for messages.
    package init(
        _ cassette: Cassette, _ comparison: CassetteComparison, _ names: CassetteSecrets, repeats: Bool, file: String
    ) {
        self.comparison = comparison
        self.repeats = repeats
        self.file = file
        scrubber = SecretScrubber(names, .masked)
        uses = Array(repeating: 0, count: cassette.exchanges.count)
        exchanges = cassette.exchanges
        for (index, exchange) in exchanges.enumerated() {
            let key = comparison.key(of: scrubber.scrub(RecordedExchange(exchange.request, nil)).request)
            keys.append(key)
            if key.body == nil, !comparison.ignoresBody {
                inexactMatches[key, default: []].append(index)
            } else {
                places[key, default: []].append(index)
            }
        }
    }

    /// The number of uses of each exchange, in the order of the file.
    package var useCounts: [Int] { uses }

    package mutating func play(_ request: ArrivedRequest) -> Verdict {
        let recorded = RecordedExchange.Request(request)
        let live = comparison.key(of: scrubber.scrub(RecordedExchange(recorded, nil)).request)
        var key = live
        var candidates = places[key]
        if candidates == nil {
            // The request may belong to a login that the recorder detected only from the response.
            key = comparison.key(of: scrubber.scrub(RecordedExchange(recorded, nil), inLogin: true).request)
            candidates = places[key]
        }
        if candidates == nil {
            key.body = nil
            candidates = inexactMatches[key]
        }
        guard let candidates, let last = candidates.last else { return .missing(unmatched(request, live)) }
        let next = played[key, default: 0]
        guard next < candidates.count || repeats else {
            let count = candidates.count == 1 ? "its one exchange" : "its \(candidates.count) exchanges"
            return .missing(
                NightjarError(
                    .invalidRequest,
                    "the cassette \(quoted(file)) has already played \(count) for \(request.method) \(request.url.redacted); "
                        + "record again, or set repeats = true to repeat the last one"))
        }
        played[key] = next &+ 1
        let index = next < candidates.count ? candidates[next] : last
        uses[index] &+= 1
        return .play(exchanges[index])
    }

    /// Returns the comparison of a message of a WebSocket client with a recorded one. Secrets are masked.
    package func expectation(_ recorded: RecordedExchange.SocketMessage.Content) -> ExpectedMessage {
        let (comparison, scrubber) = (comparison, scrubber)
        @Sendable func key(_ content: RecordedExchange.SocketMessage.Content) -> CassetteComparison.Key {
            var scrubber = scrubber
            // The comparison of bodies, which belong to requests.
            let request = RecordedExchange.Request(
                method: .post, url: "http://websocket.invalid/", body: content.body)
            return comparison.key(of: scrubber.scrub(RecordedExchange(request, nil)).request)
        }
        let expected = key(recorded)
        return ExpectedMessage { message in
            let live = RecordedExchange.SocketMessage.Content(message)
            switch (recorded, live) {
            case (.text, .binary): return "it is binary"
            case (.binary, .text): return "it is text"
            default: return key(live) == expected ? nil : "it differs from the recorded message"
            }
        }
    }

    private func unmatched(_ request: ArrivedRequest, _ live: CassetteComparison.Key) -> NightjarError {
        let what = "the cassette \(quoted(file)) has no exchange for \(request.method) \(request.url.redacted)"
        var nearest: (index: Int, similarity: Int, text: String)?
        for (index, key) in keys.enumerated().prefix(CassettePlayer.maximumCompared) {
            guard let (similarity, text) = CassetteComparison.difference(key, live) else { continue }
            if nearest.map({ $0.similarity < similarity }) ?? true { nearest = (index, similarity, text) }
        }
        guard let nearest else { return NightjarError(.invalidRequest, "\(what): it is empty; record it first") }
        let exchange = exchanges[nearest.index].request
        let url = (try? RequestURL(exchange.url))?.redacted ?? exchange.url
        return NightjarError(
            .invalidRequest,
            "\(what); the nearest, number \(nearest.index + 1) (\(exchange.method) \(url)), \(nearest.text)")
    }

    /// The maximum number of exchanges that are compared to build a message.
    private static let maximumCompared = 1000
}

extension RecordedExchange.Request {
    /// Creates the request as it would be recorded, but with its secrets.
    package init(_ request: ArrivedRequest) {
        self.init(
            method: request.method, url: request.url.origin.description + request.url.target, headers: request.headers,
            body: request.body.readableBytes > Cassette.largestBody ? .omitted : RecordedBody(request.body))
    }
}
