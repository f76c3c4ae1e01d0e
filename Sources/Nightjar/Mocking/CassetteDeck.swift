import Glibc
import NIOCore
import NightjarHTTP
import NightjarTransport
import Synchronization

/// Records the exchanges of one client to a file, or replays those of it.
///
/// On the client's loop, save for what `Saver` does.
final class CassetteDeck: ExchangeRecorder, @unchecked Sendable {
    private let options: CassetteOptions
    private let saver: Saver
    private var player: CassettePlayer
    private var cassette: Cassette
    private var scrubber: SecretScrubber
    /// Secrets that all recorded exchanges have been searched for.
    private var searched = 0
    /// Bytes of the file, about; nil: not measured yet.
    private var size: Int?
    private var revision: UInt64 = 0
    private var isSaving = false
    private var workers: WorkerThreads?
    private var loop: (any EventLoop)?
    private var note: @Sendable (LogLevel, String) -> Void = { _, _ in }
    private var isFull = false

    /// Reads what there is to replay, on this thread.
    ///
    /// - Parameter sensitive: names that the client's configuration calls credentials.
    /// - Throws: `storage` for a file that cannot be read, or is not there to replay; `decoding` for one that is no cassette.
    init(_ options: CassetteOptions, sensitive: [String]) throws(NightjarError) {
        var options = options
        options.file = try FilePath.absolute(options.file)
        options.secrets.further += sensitive
        self.options = options
        saver = Saver(options.file)
        var loaded = Cassette()
        var lastName = 0
        if options.mode != .record, let bytes = try CassetteDeck.read(options) {
            do throws(NightjarError) {
                loaded = try ByteBuffer(bytes: bytes).withUnsafeReadableBytes { bytes throws(NightjarError) in
                    try Cassette(parsing: bytes)
                }
            } catch {
                throw NightjarError(
                    .decoding,
                    "the cassette \(quoted(options.file)) cannot be read: \(error.message); "
                        + "put back a version that can, or record it again")
            }
            lastName = SecretScrubber.highestNumber(in: String(decoding: bytes, as: UTF8.self))
        }
        cassette = loaded
        scrubber = SecretScrubber(options.secrets, .names(after: lastName))
        player = CassettePlayer(
            loaded, options.comparison, options.secrets, repeats: options.repeats, file: options.file)
    }

    private static func read(_ options: CassetteOptions) throws(NightjarError) -> [UInt8]? {
        do throws(NightjarError) {
            return try FileContent.read(options.file, atMost: Cassette.largestFile, isNamedByUser: false)
        } catch {
            guard error.code == ENOENT else { throw error }
            if options.mode == .auto { return nil }
            throw NightjarError(
                .storage,
                "there is no cassette \(quoted(options.file)) to replay; record it first (mode \"record\" or \"auto\")",
                code: error.code)
        }
    }

    /// - Parameter note: takes what a log should know.
    func listen(_ note: @escaping @Sendable (LogLevel, String) -> Void) { self.note = note }

    // MARK: Transport

    /// The transport that records what the network does, or plays in its place.
    func transport(over network: any HTTPTransport, on loop: any EventLoop) -> any HTTPTransport {
        self.loop = loop
        workers = WorkerThreads(1, for: loop)
        guard options.mode != .record else { return RecordingTransport(self, over: network) }
        let recording = options.mode == .auto ? RecordingTransport(self, over: network) : network
        let mayPass = options.mode == .auto
        return StagedTransport(over: recording, on: loop) { [self] request, _ in
            switch player.play(request) {
            case .play(let exchange): .play(exchange.script(keepsTime: options.keepsTime))
            case .missing(let error): mayPass ? .pass : .refuse(error)
            }
        }
    }

    // MARK: Recording

    var largestBody: Int { Cassette.largestBody }

    func add(_ exchange: ObservedExchange, begun mark: Int) {
        guard !isFull else { return }
        let what = "\(exchange.request.method) \(exchange.request.url.redacted)"
        guard let recorded = exchange.recorded else {
            return note(
                .warning, "\(what) is not recorded: its answer is larger than \(Cassette.largestBody) bytes")
        }
        let scrubbed = scrubber.scrub(recorded)
        // As they are written: white space and escapes can make a body several times larger.
        let written = (try? Cassette([scrubbed]).encoded()).map(\.readableBytes)
        let before = size ?? (try? cassette.encoded()).map(\.readableBytes)
        guard let written, let before, before + written <= CassetteDeck.capacity,
            cassette.exchanges.count < Cassette.mostExchanges
        else {
            isFull = true
            return note(
                .warning, "the cassette \(quoted(options.file)) is full: \(what) and what follows is not recorded")
        }
        size = before + written
        cassette.exchanges.append(scrubbed)
        revision += 1
        saveSoon()
    }

    /// Changes are gathered: a file of many exchanges is written once a while, and when the client is closed.
    private func saveSoon() {
        guard !isSaving, let loop else { return }
        isSaving = true
        loop.scheduleTask(in: .nanoseconds(CassetteDeck.patience.nanosecondsClamped)) { [self] in
            isSaving = false
            let (saver, content, revision) = (saver, searchedCassette(), revision)
            workers?.run("saving the cassette") { () throws(NightjarError) in
                try saver.save(content, revision)
            } then: { [self] result in
                told(result)
            }
        }
    }

    /// The cassette, without the secrets that were seen since.
    private func searchedCassette() -> Cassette {
        if searched < scrubber.seen.count {
            cassette.exchanges = cassette.exchanges.map { scrubber.scrubSeen($0, from: searched) }
            searched = scrubber.seen.count
        }
        return cassette
    }

    private func told(_ result: Result<Void, NightjarError>) {
        if case .failure(let error) = result {
            note(.error, "the cassette \(quoted(options.file)) was not saved: \(error.message)")
        }
    }

    /// The client is closed: what is not in the file yet is put there, on this thread.
    func close() {
        workers?.shutDown()
        workers = nil
        guard revision > 0 else { return }
        let (content, revision) = (searchedCassette(), revision)
        told(Result { () throws(NightjarError) in try saver.save(content, revision) })
    }

    /// Bytes of a file that is added to. The rest is for the names of secrets that are found later: a name may be longer
    /// than its secret.
    private static let capacity = Cassette.largestFile / 4 * 3

    /// Between the first exchange that is not in the file and its being written.
    private static let patience = Duration.seconds(1)

    /// The file, one thread at a time.
    private final class Saver: Sendable {
        private let path: String
        /// Of what is in the file; nil: nothing of ours.
        private let saved = Mutex<UInt64?>(nil)

        init(_ path: String) { self.path = path }

        /// What is older than what is there already is dropped.
        func save(_ cassette: Cassette, _ revision: UInt64) throws(NightjarError) {
            let result = saved.withLock { saved -> Result<Void, NightjarError> in
                if let saved, saved >= revision { return .success(()) }
                do throws(NightjarError) {
                    try FileContent.write(Array(cassette.encoded().readableBytesView), to: path)
                    saved = revision
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            try result.get()
        }
    }
}
