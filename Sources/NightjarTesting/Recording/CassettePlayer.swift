import NIOCore

/// Answers requests from a cassette: each exchange once, in the order of recording among those whose requests are the same.
public struct CassettePlayer: Sendable {
    public enum Verdict: Sendable {
        case play(RecordedExchange)
        /// There is none, or none any more.
        case missing(NightjarError)
    }

    private let comparison: CassetteComparison
    private let repeats: Bool
    private let file: String
    private var scrubber: SecretScrubber
    private var exchanges: [RecordedExchange] = []
    private var keys: [CassetteComparison.Key] = []
    private var places: [CassetteComparison.Key: [Int]] = [:]
    /// Those with a body that is not known, whose keys stand for many.
    private var vague: [CassetteComparison.Key: [Int]] = [:]
    private var played: [CassetteComparison.Key: Int] = [:]
    private var uses: [Int]

    /// - Parameters:
    ///   - repeats: whether the last exchange of a request is played again and again.
    ///   - file: for messages.
    public init(
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
                vague[key, default: []].append(index)
            } else {
                places[key, default: []].append(index)
            }
        }
    }

    /// How often each exchange was played, in the order of the file.
    public var useCounts: [Int] { uses }

    public mutating func play(_ request: ArrivedRequest) -> Verdict {
        let recorded = RecordedExchange.Request(request)
        let live = comparison.key(of: scrubber.scrub(RecordedExchange(recorded, nil)).request)
        var key = live
        var candidates = places[key]
        if candidates == nil {
            // That it is of a login the answer may have told.
            key = comparison.key(of: scrubber.scrub(RecordedExchange(recorded, nil), inLogin: true).request)
            candidates = places[key]
        }
        if candidates == nil {
            key.body = nil
            candidates = vague[key]
        }
        guard let candidates, let last = candidates.last else { return .missing(unmatched(request, live)) }
        let next = played[key, default: 0]
        guard next < candidates.count || repeats else {
            let count = candidates.count == 1 ? "its one exchange" : "its \(candidates.count) exchanges"
            return .missing(
                NightjarError(
                    .invalidRequest,
                    "the cassette \(quoted(file)) has played \(count) for \(request.method) \(request.url.redacted); "
                        + "record again, or let the last one repeat (repeats = true)"))
        }
        played[key] = next &+ 1
        let index = next < candidates.count ? candidates[next] : last
        uses[index] &+= 1
        return .play(exchanges[index])
    }

    private func unmatched(_ request: ArrivedRequest, _ live: CassetteComparison.Key) -> NightjarError {
        let what = "the cassette \(quoted(file)) has no exchange for \(request.method) \(request.url.redacted)"
        var nearest: (index: Int, nearness: Int, text: String)?
        for (index, key) in keys.enumerated().prefix(CassettePlayer.mostCompared) {
            guard let (nearness, text) = CassetteComparison.difference(key, live) else { continue }
            if nearest.map({ $0.nearness < nearness }) ?? true { nearest = (index, nearness, text) }
        }
        guard let nearest else { return NightjarError(.invalidRequest, "\(what): it is empty; record it first") }
        let exchange = exchanges[nearest.index].request
        let url = (try? RequestURL(exchange.url))?.redacted ?? exchange.url
        return NightjarError(
            .invalidRequest,
            "\(what); the nearest, number \(nearest.index + 1) (\(exchange.method) \(url)), \(nearest.text)")
    }

    /// For a message.
    private static let mostCompared = 1000
}

extension RecordedExchange.Request {
    /// A request as it would be recorded, with its secrets.
    public init(_ request: ArrivedRequest) {
        self.init(
            method: request.method, url: request.url.origin.description + request.url.target, headers: request.headers,
            body: request.body.readableBytes > Cassette.largestBody ? .unkept : RecordedBody(request.body))
    }
}
