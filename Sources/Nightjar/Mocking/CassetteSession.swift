import NIOCore
import NightjarHTTP
import NightjarSystem
import NightjarTesting
import NightjarTransport
import Synchronization

/// Records the exchanges of one client to a file, replays the file, or both (``CassetteOptions/Mode``).
///
/// Created with the client, and then used on the client's loop. Only `Saver` is also used on worker threads.
final class CassetteSession: ExchangeRecorder, @unchecked Sendable {
    private let options: CassetteOptions
    private let saver: Saver
    private var player: CassettePlayer
    private var cassette: Cassette
    private var scrubber: SecretScrubber
    /// The number of secrets that have been searched for in all recorded exchanges.
    private var searched = 0
    /// The approximate size of the file in bytes; nil: not yet measured.
    private var size: Int?
    private var revision: UInt64 = 0
    private var isSaving = false
    private var workers: WorkerThreads?
    private var loop: (any EventLoop)?
    private var note: @Sendable (LogSink.Level, String) -> Void = { _, _ in }
    private var isFull = false

    /// Loads the exchanges to replay, on this thread.
    ///
    /// - Parameter sensitive: Header names that the client's configuration marks as sensitive.
    /// - Throws: `storage` for a file that cannot be read, or does not exist in mode `replay`; `decoding` for a file
    ///   that is not a cassette.
    init(_ options: CassetteOptions, sensitive: [String]) throws(NightjarError) {
        var options = options
        options.file = try FilePath.absolute(options.file)
        options.secrets.additionalNames += sensitive
        self.options = options
        saver = Saver(options.file)
        var loaded = Cassette()
        var lastName = 0
        if options.mode != .record, let bytes = try CassetteSession.read(options) {
            do throws(NightjarError) {
                loaded = try ByteBuffer(bytes: bytes).withUnsafeReadableBytes { bytes throws(NightjarError) in
                    try Cassette(parsing: bytes)
                }
            } catch {
                throw NightjarError(
                    .decoding,
                    "reading the cassette \(quoted(options.file)) failed: \(error.message); "
                        + "restore an earlier version or record the cassette again")
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
                "the cassette \(quoted(options.file)) does not exist; record it first (mode \"record\" or \"auto\")",
                code: error.code)
        }
    }

    /// Sets the receiver of log messages.
    func listen(_ note: @escaping @Sendable (LogSink.Level, String) -> Void) { self.note = note }

    // MARK: Transport

    /// Returns the transport that records the network's exchanges or replays the cassette.
    func transport(over network: any HTTPTransport, on loop: any EventLoop) -> any HTTPTransport {
        self.loop = loop
        workers = WorkerThreads(1, for: loop)
        guard options.mode != .record else { return RecordingTransport(self, over: network) }
        let recording = options.mode == .auto ? RecordingTransport(self, over: network) : network
        let mayPass = options.mode == .auto
        return MockTransport(over: recording, on: loop) { [self] request, _ in
            switch player.play(request) {
            case .play(let exchange):
                .play(exchange.script(replaysTiming: options.replaysTiming, expectation: player.expectation))
            case .missing(let error): mayPass ? .pass : .refuse(error)
            }
        }
    }

    // MARK: Recording

    var largestBody: Int { Cassette.largestBody }

    func add(_ exchange: ObservedExchange, started mark: Int) {
        guard !isFull else { return }
        let what = "\(exchange.request.method) \(exchange.request.url.redacted)"
        guard let recorded = exchange.recorded else {
            return note(
                .warning, "\(what) is not recorded: its response is larger than \(Cassette.largestBody) bytes")
        }
        let scrubbed = scrubber.scrub(recorded)
        // Measured after encoding, because escapes can make a body several times larger.
        let written = (try? Cassette([scrubbed]).encoded()).map(\.readableBytes)
        let before = size ?? (try? cassette.encoded()).map(\.readableBytes)
        guard let written, let before, before + written <= CassetteSession.capacity,
            cassette.exchanges.count < Cassette.maximumExchanges
        else {
            isFull = true
            return note(
                .warning, "the cassette \(quoted(options.file)) is full: \(what) and later exchanges are not recorded")
        }
        size = before + written
        cassette.exchanges.append(scrubbed)
        revision += 1
        saveSoon()
    }

    /// Saves after a delay, so that the file is written once for many exchanges.
    private func saveSoon() {
        guard !isSaving, let loop else { return }
        isSaving = true
        loop.scheduleTask(in: .nanoseconds(CassetteSession.gracePeriod.nanosecondsClamped)) { [self] in
            isSaving = false
            let (saver, content, revision) = (saver, searchedCassette(), revision)
            workers?.run("saving the cassette") { () throws(NightjarError) in
                try saver.save(content, revision)
            } then: { [self] result in
                report(result)
            }
        }
    }

    /// Returns the cassette. Also removes secrets from exchanges that were recorded before the secrets were known.
    private func searchedCassette() -> Cassette {
        if searched < scrubber.seen.count {
            cassette.exchanges = cassette.exchanges.map { scrubber.scrubSeen($0, from: searched) }
            searched = scrubber.seen.count
        }
        return cassette
    }

    private func report(_ result: Result<Void, NightjarError>) {
        if case .failure(let error) = result {
            note(.error, "saving the cassette \(quoted(options.file)) failed: \(error.message)")
        }
    }

    /// Called when the client is closed. Saves pending exchanges on this thread.
    func close() {
        workers?.shutDown()
        workers = nil
        guard revision > 0 else { return }
        let (content, revision) = (searchedCassette(), revision)
        report(Result { () throws(NightjarError) in try saver.save(content, revision) })
    }

    /// The file size in bytes up to which exchanges are added. Replacing secrets later may need the rest, because a
    /// placeholder may be longer than its secret.
    private static let capacity = Cassette.largestFile / 4 * 3

    /// The delay between the first unsaved exchange and the save.
    private static let gracePeriod = Duration.seconds(1)

    /// Writes the file, from one thread at a time.
    private final class Saver: Sendable {
        private let path: String
        /// The revision in the file; nil: not written yet.
        private let saved = Mutex<UInt64?>(nil)

        init(_ path: String) { self.path = path }

        /// Writes the cassette, unless the file has the same or a later revision.
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
