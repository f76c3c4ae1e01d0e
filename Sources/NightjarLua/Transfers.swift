import CLua
import DequeModule
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A download or an upload of a script. Belongs to the thread that runs the Lua state.
final class ScriptTransfer: @unchecked Sendable {
    enum Operation {
        case download(DownloadOperation)
        case upload(UploadOperation)

        var work: TransferOperation {
            switch self {
            case .download(let operation): operation
            case .upload(let operation): operation
            }
        }
    }

    private var started: Operation?
    private var isOfParent: Bool { started?.work.isOfParent ?? false }
    /// Nil in a forked child, where the parent's threads may hold its locks.
    var operation: Operation? { isOfParent ? nil : started }
    private var end: Result<Void, NightjarError>?
    /// The progress that was not reported to the script.
    private var progress: njl_transfer_progress?
    /// The response heads that were not reported to the script: at most the last ``maximumHeads``.
    private var heads = Deque<Response>()
    /// The connections that wait for ``connect(_:)``.
    private var requests: [Int] = []
    /// Whether the upload waits for ``provide(_:)``.
    private(set) var wantsBytes = false
    let waits: EventWaits

    private init(_ engine: Engine) { waits = EventWaits(engine) }

    /// Starts a download.
    static func download(
        _ engine: Engine, _ client: Client, _ request: Request, _ options: njl_transfer_options
    ) throws(NightjarError) -> ScriptTransfer {
        try download(engine, options) { (path, settings, handlers, finished) throws(NightjarError) in
            try client.startDownload(
                request, to: path, settings, on: engine.queue, handlers, finished: finished)
        }
    }

    /// Makes a streamed response a download.
    ///
    /// - Parameter body: The body of the response, of which nothing was read.
    static func download(
        _ engine: Engine, _ exchange: StreamedExchange, _ body: IncomingBody, _ options: njl_transfer_options
    ) throws(NightjarError) -> ScriptTransfer {
        let transfer = try download(engine, options) { (path, settings, handlers, finished) throws(NightjarError) in
            try Client.startDownload(
                of: exchange, holding: body.unread, to: path, settings, on: engine.queue, handlers, finished: finished)
        }
        body.close()
        return transfer
    }

    private typealias Finished = @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void

    /// - Parameter start: Starts the operation.
    private static func download(
        _ engine: Engine, _ options: njl_transfer_options,
        _ start: (
            String, DownloadSettings, DownloadOperation.Handlers, @escaping Finished
        ) throws(NightjarError) -> DownloadOperation
    ) throws(NightjarError) -> ScriptTransfer {
        let transfer = ScriptTransfer(engine)
        var handlers = DownloadOperation.Handlers()
        if options.reports_heads { handlers.head = { [weak transfer] in transfer?.add($1) } }
        if options.reports_progress {
            handlers.progress = { [weak transfer] in transfer?.note(njl_transfer_progress($1)) }
        }
        if options.prepares_requests { handlers.prepare = { [weak transfer] in transfer?.add(requestFor: $1) } }
        let operation = try start(
            try options.path.text("the path of the file"), try DownloadSettings(json: options.settings.buffer), handlers
        ) { [weak transfer] in transfer?.ended($1) }
        transfer.started = .download(operation)
        return transfer
    }

    /// Starts an upload.
    static func upload(
        _ engine: Engine, _ client: Client, _ request: Request, _ options: njl_transfer_options
    ) throws(NightjarError) -> ScriptTransfer {
        let transfer = ScriptTransfer(engine)
        var handlers = UploadOperation.Handlers()
        if options.reports_progress {
            handlers.progress = { [weak transfer] in transfer?.note(njl_transfer_progress($1)) }
        }
        if options.prepares_requests { handlers.prepare = { [weak transfer] _ in transfer?.add(requestFor: 0) } }
        var content = UploadOperation.Content.stream
        if options.path.data == nil {
            handlers.read = { [weak transfer] _, _ in transfer?.requestBytes() ?? .failed("the upload has ended") }
        } else {
            content = .file(try options.path.text("the path of the file"))
        }
        let operation = try client.startUpload(
            request, content, try UploadSettings(json: options.settings.buffer), on: engine.queue, handlers
        ) { [weak transfer] in transfer?.ended($1) }
        transfer.started = .upload(operation)
        return transfer
    }

    // MARK: Events

    private func add(_ head: Response) {
        if heads.count == ScriptTransfer.maximumHeads { heads.removeFirst() }
        heads.append(head)
        waits.notify()
    }

    private func note(_ progress: njl_transfer_progress) {
        self.progress = progress
        waits.notify()
    }

    private func add(requestFor connection: Int) {
        requests.append(connection)
        waits.notify()
    }

    private func requestBytes() -> TaskHandlers.BodyPart {
        wantsBytes = true
        waits.notify()
        return .later
    }

    private func ended(_ result: Result<Void, NightjarError>) {
        end = result
        waits.notify()
    }

    // MARK: The script

    var wantsRequest: Bool { !requests.isEmpty && !isEnded }

    /// Ends the waits, so that another task calls the function of the script, if no task has called it.
    func notify() {
        if wantsRequest || wantsBytes { waits.notify() }
    }

    func connect(_ request: Request) {
        guard !requests.isEmpty else { return }
        let connection = requests.removeFirst()
        switch operation {
        case .download(let operation): operation.connect(connection, with: request)
        case .upload(let operation): operation.connect(with: request)
        case nil: break
        }
    }

    func provide(_ part: TaskHandlers.BodyPart) {
        guard wantsBytes, case .upload(let operation) = operation else { return }
        wantsBytes = false
        operation.provide(part)
    }

    func takeHead() -> Response? { heads.popFirst() }

    func takeProgress() -> njl_transfer_progress? { progress.take() }

    var isEnded: Bool { end != nil || isOfParent }

    var error: NightjarError? {
        if isOfParent {
            return NightjarError(.forked, "this transfer belongs to the parent process; start another one")
        }
        if case .failure(let error) = end { return error }
        return nil
    }

    func cancel(keeps: Bool) {
        requests = []
        operation?.work.cancel(keeps: keeps)
    }

    private static let maximumHeads = 64
}

extension njl_transfer_progress {
    init(_ progress: Download.Progress) {
        let name: StaticString =
            switch progress.state {
            case .connecting: "connecting"
            case .receiving: "receiving"
            case .waiting: "waiting"
            case .paused: "paused"
            case .verifying: "verifying"
            case .ended: "ended"
            }
        self.init(name, progress.received, progress.total, progress.rate, progress.timeLeft)
    }

    init(_ progress: Upload.Progress) {
        let name: StaticString =
            switch progress.state {
            case .connecting: "connecting"
            case .sending: "sending"
            case .waiting: "waiting"
            case .paused: "paused"
            case .verifying: "verifying"
            case .ended: "ended"
            }
        self.init(name, progress.sent, progress.total, progress.rate, progress.timeLeft)
        expires = progress.expires?.seconds ?? -1
    }

    private init(_ state: StaticString, _ count: Int, _ total: Int?, _ rate: Double?, _ timeLeft: Duration?) {
        self.init(
            state: UnsafeRawPointer(state.utf8Start).assumingMemoryBound(to: CChar.self), count: Int64(count),
            total: total.map { Int64($0) } ?? -1, rate: rate ?? -1, time_left: timeLeft?.inSeconds ?? -1, expires: -1)
    }
}
