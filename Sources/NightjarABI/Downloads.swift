import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

typealias DownloadBox = TransferBox<DownloadOperation>

extension nj_download_progress {
    init(_ progress: Download.Progress) {
        self.init(
            state: nj_download_state(progress.state), received: Int64(progress.received),
            total: progress.total.map { Int64($0) } ?? -1, rate: progress.rate ?? -1,
            time_left: progress.timeLeft?.inSeconds ?? -1)
    }
}

extension nj_download_state {
    init(_ state: Download.State) {
        self =
            switch state {
            case .connecting: NJ_DOWNLOAD_CONNECTING
            case .receiving: NJ_DOWNLOAD_RECEIVING
            case .waiting: NJ_DOWNLOAD_WAITING
            case .paused: NJ_DOWNLOAD_PAUSED
            case .verifying: NJ_DOWNLOAD_VERIFYING
            case .ended: NJ_DOWNLOAD_ENDED
            }
    }
}

private func settings(_ json: UnsafePointer<CChar>?, _ length: Int) throws(NightjarError) -> DownloadSettings {
    json == nil ? DownloadSettings() : try DownloadSettings(json: try document(json, length))
}

/// The callbacks of nj_client_start_download as handlers.
private func handlers(
    _ callbacks: nj_download_callbacks, _ context: CallbackContext, _ holder: DownloadBox.Holder
) -> DownloadOperation.Handlers {
    var handlers = DownloadOperation.Handlers()
    if let head = callbacks.head {
        handlers.head = { operation, response in
            guard let box = holder.box(of: operation) else { return }
            let response = ResponseBox(response)
            withExtendedLifetime(response) { head(context.pointer, Handle.lend(box), Handle.lend(response)) }
        }
    }
    if let progress = callbacks.progress {
        handlers.progress = { operation, state in
            guard let box = holder.box(of: operation) else { return }
            var state = nj_download_progress(state)
            progress(context.pointer, Handle.lend(box), &state)
        }
    }
    return handlers
}

private func callbacks(
    _ given: UnsafePointer<nj_download_callbacks>?
) throws(NightjarError) -> nj_download_callbacks {
    try transferCallbacks(given, \.size, "nj_download_callbacks", or: nj_download_callbacks())
}

/// Starts a download with the callbacks of a C program.
///
/// - Parameter start: Starts the operation.
private func start(
    _ queue: OpaquePointer?, _ given: UnsafePointer<nj_download_callbacks>?, _ context: UnsafeMutableRawPointer?,
    _ start: (
        CompletionQueue, DownloadOperation.Handlers,
        @escaping @Sendable (DownloadOperation, Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> DownloadOperation
) throws(NightjarError) -> OpaquePointer {
    let queue = try requiredQueue(queue)
    let callbacks = try callbacks(given)
    let done = try required(callbacks.done, "callbacks->done")
    let context = CallbackContext(pointer: context)
    let box = DownloadBox()
    let holder = DownloadBox.Holder(box)
    box.start(try start(queue, handlers(callbacks, context, holder)) { holder.end($0, $1, context, done) })
    return Handle.make(box)
}

@_cdecl("nj_client_download") @implementation
public func nj_client_download(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ options: UnsafePointer<CChar>?, _ length: Int, _ given: UnsafePointer<nj_download_callbacks>?,
    _ context: UnsafeMutableRawPointer?, _ outDownload: UnsafeMutablePointer<OpaquePointer?>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    outDownload?.pointee = nil
    return setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        let path = try required(text(path), "path")
        let callbacks = try callbacks(given)
        let box = DownloadBox()
        let holder = DownloadBox.Holder(box)
        defer { holder.release() }
        try client.downloadBlocking(
            request, to: path, try settings(options, length),
            handlers(callbacks, CallbackContext(pointer: context), holder)
        ) { operation in
            box.start(operation)
            outDownload?.pointee = Handle.make(box)
        }
    }
}

@_cdecl("nj_client_start_download") @implementation
public func nj_client_start_download(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ options: UnsafePointer<CChar>?, _ length: Int, _ queue: OpaquePointer?,
    _ given: UnsafePointer<nj_download_callbacks>?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        let path = try required(text(path), "path")
        let settings = try settings(options, length)
        return try start(queue, given, context) { (queue, handlers, finished) throws(NightjarError) in
            try client.startDownload(request, to: path, settings, on: queue, handlers, finished: finished)
        }
    }
}

@_cdecl("nj_task_start_download") @implementation
public func nj_task_start_download(
    _ task: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ options: UnsafePointer<CChar>?, _ length: Int,
    _ queue: OpaquePointer?, _ given: UnsafePointer<nj_download_callbacks>?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let task = try required(Handle<ClientTask>.borrow(task), "task")
        guard task.isDeliveringHead else {
            throw NightjarError(
                .invalidArgument, "nj_task_start_download was called too late; call it in the nj_head_fn of the call")
        }
        let path = try required(text(path), "path")
        let settings = try settings(options, length)
        return try start(queue, given, context) { (queue, handlers, finished) throws(NightjarError) in
            try Client.startDownload(
                of: .running(task), to: path, settings, on: queue, handlers, finished: finished)
        }
    }
}

@_cdecl("nj_download_retain") @implementation
public func nj_download_retain(_ download: OpaquePointer?) -> OpaquePointer? {
    Handle<DownloadBox>.borrow(download).map { Handle.make($0) }
}

@_cdecl("nj_download_release") @implementation
public func nj_download_release(_ download: OpaquePointer?) { Handle<DownloadBox>.release(download) }

@_cdecl("nj_download_pause") @implementation
public func nj_download_pause(_ download: OpaquePointer?) {
    Handle<DownloadBox>.borrow(download)?.operation?.pause()
}

@_cdecl("nj_download_resume") @implementation
public func nj_download_resume(_ download: OpaquePointer?) {
    Handle<DownloadBox>.borrow(download)?.operation?.resume()
}

@_cdecl("nj_download_cancel") @implementation
public func nj_download_cancel(_ download: OpaquePointer?, _ keepsPart: Bool) {
    Handle<DownloadBox>.borrow(download)?.operation?.cancel(keeps: keepsPart)
}

@_cdecl("nj_download_get_progress") @implementation
public func nj_download_get_progress(_ download: OpaquePointer?) -> nj_download_progress {
    let operation = Handle<DownloadBox>.borrow(download)?.operation
    var progress = nj_download_progress(operation?.progress ?? Download.Progress())
    if operation == nil { progress.state = NJ_DOWNLOAD_ENDED }
    return progress
}

@_cdecl("nj_download_get_file") @implementation
public func nj_download_get_file(
    _ download: OpaquePointer?, _ outFile: UnsafeMutablePointer<nj_downloaded_file>?
) -> Bool {
    let file = Handle<DownloadBox>.borrow(download)?.operation?.file
    outFile?.pointee = nj_downloaded_file(
        size: Int64(file?.size ?? 0), received: Int64(file?.received ?? 0), resumed: Int64(file?.resumed ?? 0),
        attempts: Int64(file?.attempts ?? 0))
    return file != nil
}

@_cdecl("nj_download_path") @implementation
public func nj_download_path(_ download: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    (Handle<DownloadBox>.borrow(download)?.operation?.file?.path).flatMap { strdup($0) }
}

@_cdecl("nj_download_resume_state") @implementation
public func nj_download_resume_state(_ download: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    (Handle<DownloadBox>.borrow(download)?.operation?.resumeState).flatMap { strdup($0) }
}
