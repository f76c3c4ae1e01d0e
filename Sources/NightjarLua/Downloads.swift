import CLua
import DequeModule
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A download of a script. Belongs to the thread that runs the Lua state.
final class ScriptDownload: @unchecked Sendable {
    /// The events that the script handles.
    struct Handled {
        var heads = false
        var progress = false
        /// Whether the script makes each request but the first one.
        var requests = false
    }

    private var started: DownloadOperation?
    private var isOfParent: Bool { started?.isOfParent ?? false }
    /// Nil in a forked child, where the parent's threads may hold its locks.
    var operation: DownloadOperation? { isOfParent ? nil : started }
    private var end: Result<Void, NightjarError>?
    /// The progress that was not reported to the script.
    private var progress: Download.Progress?
    /// The response heads that were not reported to the script: at most the last ``maximumHeads``.
    private var heads = Deque<Response>()
    /// The connections that wait for ``connect(_:)``.
    private var requests: [Int] = []
    let waits: EventWaits

    init(
        _ engine: Engine, _ client: Client, _ request: Request, to path: String, _ settings: DownloadSettings,
        handling handled: Handled
    ) throws(NightjarError) {
        waits = EventWaits(engine)
        var handlers = DownloadOperation.Handlers()
        if handled.heads {
            handlers.head = { [weak self] _, response in
                guard let self else { return }
                if heads.count == ScriptDownload.maximumHeads { heads.removeFirst() }
                heads.append(response)
                waits.notify()
            }
        }
        if handled.progress {
            handlers.progress = { [weak self] _, progress in
                self?.progress = progress
                self?.waits.notify()
            }
        }
        if handled.requests {
            handlers.prepare = { [weak self] _, connection in
                self?.requests.append(connection)
                self?.waits.notify()
            }
        }
        started = try client.startDownload(
            request, to: path, settings, on: engine.queue, handlers
        ) { [weak self] _, result in
            self?.end = result
            self?.waits.notify()
        }
    }

    // MARK: The script

    var wantsRequest: Bool { !requests.isEmpty && !isEnded }

    /// Ends the waits, so that another task makes the request, if no task has made it.
    func notifyOfRequest() {
        if wantsRequest { waits.notify() }
    }

    func connect(_ request: Request) {
        guard !requests.isEmpty else { return }
        operation?.connect(requests.removeFirst(), with: request)
    }

    func takeHead() -> Response? { heads.popFirst() }

    func takeProgress() -> Download.Progress? { progress.take() }

    var isEnded: Bool { end != nil || isOfParent }

    var error: NightjarError? {
        if isOfParent {
            return NightjarError(.forked, "this download belongs to the parent process; start another one")
        }
        if case .failure(let error) = end { return error }
        return nil
    }

    func cancel(keepsPart: Bool) {
        requests = []
        operation?.cancel(keepsPart: keepsPart)
    }

    private static let maximumHeads = 64
}

// MARK: For C

private func text(_ text: String?) -> OpaquePointer? {
    text.map { Handle<BorrowedText>.make(BorrowedText($0)) }
}

@_cdecl("njl_download_start") @implementation
public func njl_download_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?,
    _ start: UnsafePointer<njl_download_options>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let start = start?.pointee else {
            throw Engine.closedClient
        }
        let (client, requested) = try engine.request(request, of: client)
        let handled = ScriptDownload.Handled(
            heads: start.reports_heads, progress: start.reports_progress, requests: start.prepares_requests)
        return Handle<ScriptDownload>.make(
            try ScriptDownload(
                engine, client, requested, to: try start.path.text("the path of the file"),
                try DownloadSettings(json: start.settings.buffer), handling: handled))
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
    Handle<ScriptDownload>.borrow(download)?.notifyOfRequest()
}

@_cdecl("njl_download_connect") @implementation
public func njl_download_connect(
    _ download: OpaquePointer?, _ engine: OpaquePointer?, _ client: OpaquePointer?,
    _ request: UnsafePointer<njl_request>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    do throws(NightjarError) {
        guard let engine = Handle<Engine>.borrow(engine) else { throw Engine.closedClient }
        let (_, requested) = try engine.request(request, of: client)
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
    return Handle<Future>.make(download.waits.add(wait))
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
            state: njl_download_progress.name(of: progress.state), received: Int64(progress.received),
            total: progress.total.map { Int64($0) } ?? -1, rate: progress.rate ?? -1,
            time_left: progress.timeLeft?.inSeconds ?? -1)
    }

    private static func name(of state: Download.State) -> UnsafePointer<CChar> {
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
    text(Handle<ScriptDownload>.borrow(download)?.operation?.resumeState)
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
