import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A download of a script. Belongs to the thread that runs the Lua state.
final class ScriptDownload: @unchecked Sendable {
    private unowned let engine: Engine
    private var started: DownloadOperation?
    /// Nil in a forked child, where the parent's threads may hold its locks.
    var operation: DownloadOperation? { engine.isForked ? nil : started }
    private(set) var end: Result<Void, NightjarError>?
    /// The progress that was not reported to the script.
    private var progress: Download.Progress?
    /// The last response head that was not reported to the script.
    private var head: Response?
    /// The connections that wait for ``connect(_:)``.
    private var requests: [Int] = []
    /// The outcomes that the next event ends.
    private var waiters: [Future] = []

    /// - Parameters:
    ///   - reportsHeads: Whether the script has a function for the heads of responses.
    ///   - reportsProgress: Whether the script has a function for the progress.
    ///   - preparesRequests: Whether the script makes each request but the first one.
    init(
        _ engine: Engine, _ client: Client, _ request: Request, to path: String, _ settings: DownloadSettings,
        reportsHeads: Bool, reportsProgress: Bool, preparesRequests: Bool
    ) throws(NightjarError) {
        self.engine = engine
        var handlers = DownloadOperation.Handlers()
        if reportsHeads {
            handlers.head = { [weak self] _, response in
                self?.head = response
                self?.notify()
            }
        }
        if reportsProgress {
            handlers.progress = { [weak self] _, progress in
                self?.progress = progress
                self?.notify()
            }
        }
        if preparesRequests {
            handlers.prepare = { [weak self] _, connection in
                self?.requests.append(connection)
                self?.notify()
            }
        }
        started = try client.startDownload(
            engine.confined(request), to: path, settings, on: engine.queue, handlers
        ) { [weak self] _, result in
            self?.end = result
            self?.notify()
        }
    }

    private func notify() {
        for waiter in exchange(&waiters, with: []) { engine.complete(waiter) }
    }

    // MARK: The script

    func await(_ wait: OpaquePointer) -> Future {
        let future = engine.pending(for: wait)
        future.abandon = { [weak self, weak future] in
            guard let self, let future else { return }
            engine.drop(future)
            waiters.removeAll { $0 === future }
        }
        waiters.append(future)
        return future
    }

    var wantsRequest: Bool { !requests.isEmpty && !isEnded }

    func notifyIfRequestIsWanted() {
        if wantsRequest { notify() }
    }

    func connect(_ request: Request) {
        guard !requests.isEmpty else { return }
        operation?.connect(requests.removeFirst(), with: engine.confined(request))
    }

    func takeHead() -> Response? { head.take() }

    func takeProgress() -> Download.Progress? { progress.take() }

    var isEnded: Bool { end != nil || engine.isForked }

    var error: NightjarError? {
        if engine.isForked {
            return NightjarError(.forked, "this download belongs to the parent process; start another one")
        }
        if case .failure(let error) = end { return error }
        return nil
    }

    func cancel(keepsPart: Bool) {
        requests = []
        operation?.cancel(keepsPart: keepsPart)
    }
}

// MARK: For C

private func text(_ text: String?) -> OpaquePointer? {
    text.map { Handle<BorrowedText>.make(BorrowedText($0)) }
}

private let closedClient = NightjarError(.invalidArgument, "the client is closed")

private func requested(
    _ client: Client, _ request: UnsafePointer<njl_request>?, _ engine: Engine
) throws(NightjarError) -> Request {
    guard let request = request?.pointee else { throw closedClient }
    try engine.checkProcess()
    var requested = try Request(methodAndTarget: request)
    try requested.read(request, for: client)
    return requested
}

@_cdecl("njl_download_start") @implementation
public func njl_download_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?,
    _ start: UnsafePointer<njl_download_options>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client),
            let start = start?.pointee
        else { throw closedClient }
        let requested = try requested(client, request, engine)
        return Handle<ScriptDownload>.make(
            try ScriptDownload(
                engine, client, requested, to: try start.path.text("the path of the file"),
                try DownloadSettings(json: start.settings.buffer), reportsHeads: start.reports_heads,
                reportsProgress: start.reports_progress,
                preparesRequests: start.prepares_requests))
    }
}

@_cdecl("njl_download_release") @implementation
public func njl_download_release(_ download: OpaquePointer?) {
    Handle<ScriptDownload>.borrow(download)?.cancel(keepsPart: true)
    Handle<ScriptDownload>.release(download)
}

@_cdecl("njl_download_wants_request") @implementation
public func njl_download_wants_request(_ download: OpaquePointer?) -> Bool {
    Handle<ScriptDownload>.borrow(download)?.wantsRequest ?? false
}

@_cdecl("njl_download_notify") @implementation
public func njl_download_notify(_ download: OpaquePointer?) {
    Handle<ScriptDownload>.borrow(download)?.notifyIfRequestIsWanted()
}

@_cdecl("njl_download_connect") @implementation
public func njl_download_connect(
    _ download: OpaquePointer?, _ engine: OpaquePointer?, _ client: OpaquePointer?,
    _ request: UnsafePointer<njl_request>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    do throws(NightjarError) {
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client) else {
            throw closedClient
        }
        let requested = try requested(client, request, engine)
        Handle<ScriptDownload>.borrow(download)?.connect(requested)
        return true
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return false
    }
}

@_cdecl("njl_download_await") @implementation
public func njl_download_await(_ download: OpaquePointer?, _ wait: OpaquePointer?) -> OpaquePointer? {
    guard let download = Handle<ScriptDownload>.borrow(download), let wait else { return nil }
    return Handle<Future>.make(download.await(wait))
}

@_cdecl("njl_download_is_ended") @implementation
public func njl_download_is_ended(_ download: OpaquePointer?) -> Bool {
    Handle<ScriptDownload>.borrow(download)?.isEnded ?? true
}

@_cdecl("njl_download_error") @implementation
public func njl_download_error(_ download: OpaquePointer?) -> OpaquePointer? {
    (Handle<ScriptDownload>.borrow(download)?.error).map { Handle<Future>.make(Future(.failure($0))) }
}

extension njl_download_progress {
    fileprivate init(_ progress: Download.Progress) {
        self.init(
            state: C.name(of: progress.state), received: Int64(progress.received),
            total: progress.total.map { Int64($0) } ?? -1, rate: progress.rate ?? -1,
            time_left: progress.timeLeft?.inSeconds ?? -1)
    }

    private enum C {
        static func name(of state: Download.State) -> UnsafePointer<CChar> {
            let name: StaticString =
                switch state {
                case .connecting: "connecting"
                case .receiving: "receiving"
                case .waiting: "waiting"
                case .paused: "paused"
                case .verifying: "verifying"
                case .ended: "ended"
                }
            return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
        }
    }
}

@_cdecl("njl_download_take_head") @implementation
public func njl_download_take_head(_ download: OpaquePointer?) -> OpaquePointer? {
    (Handle<ScriptDownload>.borrow(download)?.takeHead()).map { Handle<Future>.make(Future(.success($0))) }
}

@_cdecl("njl_download_take_progress") @implementation
public func njl_download_take_progress(
    _ download: OpaquePointer?, _ progress: UnsafeMutablePointer<njl_download_progress>?
) -> Bool {
    guard let taken = Handle<ScriptDownload>.borrow(download)?.takeProgress() else { return false }
    progress?.pointee = njl_download_progress(taken)
    return true
}

@_cdecl("njl_download_get_progress") @implementation
public func njl_download_get_progress(_ download: OpaquePointer?) -> njl_download_progress {
    njl_download_progress(Handle<ScriptDownload>.borrow(download)?.operation?.progress ?? Download.Progress())
}

@_cdecl("njl_download_file") @implementation
public func njl_download_file(
    _ download: OpaquePointer?, _ file: UnsafeMutablePointer<njl_downloaded_file>?
) -> OpaquePointer? {
    guard let found = Handle<ScriptDownload>.borrow(download)?.operation?.file else { return nil }
    file?.pointee = njl_downloaded_file(
        size: Int64(found.size), received: Int64(found.received), resumed: Int64(found.resumed),
        attempts: Int64(found.attempts))
    return text(found.path)
}

@_cdecl("njl_download_state") @implementation
public func njl_download_state(_ download: OpaquePointer?) -> OpaquePointer? {
    let state = Handle<ScriptDownload>.borrow(download)?.operation?.resumeState
    return state?.isEmpty == false ? text(state) : nil
}

@_cdecl("njl_download_cancel") @implementation
public func njl_download_cancel(_ download: OpaquePointer?, _ keepsPart: Bool) {
    Handle<ScriptDownload>.borrow(download)?.cancel(keepsPart: keepsPart)
}

@_cdecl("njl_download_pause") @implementation
public func njl_download_pause(_ download: OpaquePointer?) {
    Handle<ScriptDownload>.borrow(download)?.operation?.pause()
}

@_cdecl("njl_download_resume") @implementation
public func njl_download_resume(_ download: OpaquePointer?) {
    Handle<ScriptDownload>.borrow(download)?.operation?.resume()
}
