import NIOCore
import NightjarHTTP
import NightjarTesting
import Synchronization

/// Records the exchanges of an interactive session by step. The exchanges of all clients are kept in memory. Successful
/// steps can be saved as cassettes later.
///
/// The memory is bounded. The recording contains secrets; ``cassettes(of:secrets:literals:)`` returns cassettes without
/// secrets. Any thread.
package final class SessionRecording: Sendable {
    private struct Entry {
        let client: Int
        let step: Int
        let exchange: ObservedExchange
    }

    private struct Member {
        let step: Int
        let sensitive: [String]
        /// Whether the client writes nothing to disk.
        let isEphemeral: Bool
    }

    private struct State {
        var step = 0
        var clients: [Member] = []
        var entries: [Entry] = []
        /// The size of all bodies in bytes.
        var size = 0
        /// Exchanges in progress, by step.
        var inFlight: [Int: Int] = [:]
        /// The first reason why a step cannot be replayed.
        var losses: [Int: String] = [:]
        /// The first step that was not recorded completely because a limit was reached.
        var firstLost: Int?

        mutating func lose(_ step: Int, _ reason: @autoclosure () -> String) {
            guard losses[step] == nil else { return }
            guard losses.count < SessionRecording.maximumLosses else { return discardRemainder(from: step) }
            losses[step] = reason()
        }

        mutating func end(_ step: Int) {
            guard let count = inFlight[step] else { return }
            inFlight[step] = count > 1 ? count - 1 : nil
        }

        mutating func discardRemainder(from step: Int) { firstLost = min(firstLost ?? step, step) }
    }

    private let state = Mutex(State())

    package init() {}

    /// Begins a step. Later exchanges belong to the step with this number, starting at 1.
    package func begin(step: Int) { state.withLock { $0.step = step } }

    // MARK: Recording

    /// Returns the recorder of a client that is created in the current step.
    func recorder(sensitive: [String], isEphemeral: Bool) -> any ExchangeRecorder {
        let place = state.withLock { state in
            guard state.clients.count < SessionRecording.maximumClients else {
                state.discardRemainder(from: state.step)
                return state.clients.count - 1
            }
            state.clients.append(Member(step: state.step, sensitive: sensitive, isEphemeral: isEphemeral))
            return state.clients.count - 1
        }
        return Recorder(self, place)
    }

    private final class Recorder: ExchangeRecorder {
        let largestBody = SessionRecording.largestBody
        private let recording: SessionRecording
        private let client: Int

        init(_ recording: SessionRecording, _ client: Int) { (self.recording, self.client) = (recording, client) }

        func begin() -> Int { recording.begin() }
        func add(_ exchange: ObservedExchange, started step: Int) { recording.add(exchange, of: client, started: step) }
        func drop(_ exchange: ObservedExchange, started step: Int) { recording.drop(exchange, started: step) }
    }

    private func begin() -> Int {
        state.withLock { state in
            state.inFlight[state.step, default: 0] += 1
            return state.step
        }
    }

    private func add(_ exchange: ObservedExchange, of client: Int, started step: Int) {
        let size = exchange.storedBytes
        state.withLock { state in
            state.end(step)
            guard !state.clients[client].isEphemeral else {
                return state.lose(step, "it uses an ephemeral client, which writes nothing to disk")
            }
            guard exchange.body != nil, exchange.sent != nil, !exchange.isUpgraded || exchange.messages != nil else {
                return state.lose(
                    step, "\(exchange.name) has a body that is larger than \(SessionRecording.largestBody >> 20) MiB")
            }
            guard state.size + size <= SessionRecording.maximumBytes,
                state.entries.count < SessionRecording.maximumExchanges
            else { return state.discardRemainder(from: step) }
            state.size += size
            state.entries.append(Entry(client: client, step: step, exchange: exchange))
        }
    }

    private func drop(_ exchange: ObservedExchange, started step: Int) {
        state.withLock { state in
            state.end(step)
            state.lose(step, "\(exchange.name) was cancelled before its response")
        }
    }

    // MARK: Saving

    /// The part of a session that can be replayed.
    package struct Saved: Sendable {
        /// One cassette for each client that was created in one of the steps that can be replayed, in the order of
        /// creation.
        package var cassettes: [Cassette] = []
        /// The steps that sent requests or cannot be replayed, in order.
        package var active: [Int] = []
        /// Each secret and its placeholder. Secrets that are replaced everywhere come first.
        package var names: [(secret: String, name: String, isEverywhere: Bool)] = []
        /// The steps that cannot be replayed, and the reasons. The cassettes contain no exchanges of these steps.
        package var losses: [(step: Int, reason: String)] = []
    }

    /// Returns the exchanges of these steps as cassettes without secrets.
    ///
    /// - Parameter literals: Texts that are replaced as secrets, too.
    package func cassettes(of steps: Set<Int>, secrets: CassetteSecrets, literals: [String]) -> Saved {
        let state = state.withLock { $0 }
        var saved = Saved()
        var recorded: [(client: Int, step: Int, exchange: RecordedExchange)] = []
        var losses = state.losses
        for step in state.inFlight.keys where losses[step] == nil {
            losses[step] = "one of its calls has not finished"
        }
        if let first = state.firstLost {
            let room = SessionRecording.maximumBytes >> 20
            for step in steps where step >= first && losses[step] == nil {
                losses[step] =
                    "the recording of this session is full (at most \(room) MiB and "
                    + "\(SessionRecording.maximumExchanges) exchanges); start another session"
            }
        }
        for entry in state.entries where steps.contains(entry.step) && losses[entry.step] == nil {
            if let exchange = entry.exchange.recorded {
                recorded.append((entry.client, entry.step, exchange))
            } else {
                losses[entry.step] =
                    "\(entry.exchange.name) has a body that is larger than \(Cassette.largestBody >> 20) MiB"
            }
        }
        var secrets = secrets
        secrets.additionalNames += state.clients.flatMap(\.sensitive)
        var scrubber = SecretScrubber(secrets, .names(after: 0))
        for literal in literals where !literal.isEmpty { _ = scrubber.name(of: literal) }
        for index in recorded.indices { recorded[index].exchange = scrubber.scrub(recorded[index].exchange) }
        // A later exchange may reveal that an earlier exchange contains a secret.
        for index in recorded.indices { recorded[index].exchange = scrubber.scrubSeen(recorded[index].exchange) }
        let short = literals.filter {
            (SessionRecording.shortestWord..<SecretScrubber.shortest).contains($0.utf8.count)
        }
        for (_, step, exchange) in recorded where losses[step] == nil {
            if scrubber.isSecretInBytes(of: exchange) {
                losses[step] = "\(exchange.request.method) has a binary body that contains a secret"
            } else if SecretScrubber.hasWord(short, in: exchange) {
                losses[step] = "it contains a secret that is too short to be distinguished from other words"
            }
        }
        saved.losses = losses.filter { steps.contains($0.key) }.sorted { $0.key < $1.key }
            .map { ($0.key, $0.value) }
        for (place, client) in state.clients.enumerated()
        where steps.contains(client.step) && losses[client.step] == nil {
            saved.cassettes.append(
                Cassette(recorded.filter { $0.client == place && losses[$0.step] == nil }.map(\.exchange)))
        }
        saved.active = Set(state.entries.map(\.step)).union(losses.keys).intersection(steps).sorted()
        saved.names = scrubber.replaced
        return saved
    }

    /// The maximum size of a recorded body in bytes. Bodies of interactive sessions are usually smaller.
    static let largestBody = 4 << 20
    /// The maximum size of all bodies in bytes, excluding calls in flight.
    private static let maximumBytes = 32 << 20
    /// The minimum size of a typed secret in bytes. Shorter values are not treated as secrets.
    private static let shortestWord = 3
    private static let maximumExchanges = 10_000
    /// The maximum number of clients. Each client has a thread, so interactive sessions create far fewer.
    private static let maximumClients = 10_000
    /// The maximum number of elements of `losses`.
    fileprivate static let maximumLosses = 10_000
}

extension ObservedExchange {
    /// The method and the URL, for messages.
    fileprivate var name: String { "\(request.method) \(request.url.redacted)" }

    fileprivate var storedBytes: Int {
        let messages = messages?.reduce(0) { $0 + $1.content.body.bytes.readableBytes } ?? 0
        return (sent?.readableBytes ?? 0) + (body?.readableBytes ?? 0) + messages
    }
}
