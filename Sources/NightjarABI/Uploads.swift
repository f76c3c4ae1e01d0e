import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

typealias UploadBox = TransferBox<UploadOperation>

extension nj_upload_progress {
    init(_ progress: Upload.Progress) {
        self.init(
            state: nj_upload_state(progress.state), sent: Int64(progress.sent),
            total: progress.total.map { Int64($0) } ?? -1, rate: progress.rate ?? -1,
            time_left: progress.timeLeft?.inSeconds ?? -1, expires: progress.expires?.seconds ?? -1)
    }
}

extension nj_upload_state {
    init(_ state: Upload.State) {
        self =
            switch state {
            case .connecting: NJ_UPLOAD_CONNECTING
            case .sending: NJ_UPLOAD_SENDING
            case .waiting: NJ_UPLOAD_WAITING
            case .paused: NJ_UPLOAD_PAUSED
            case .verifying: NJ_UPLOAD_VERIFYING
            case .ended: NJ_UPLOAD_ENDED
            }
    }
}

private func settings(_ json: UnsafePointer<CChar>?, _ length: Int) throws(NightjarError) -> UploadSettings {
    json == nil ? UploadSettings() : try UploadSettings(json: try document(json, length))
}

/// The callbacks of nj_client_start_upload as handlers.
private func handlers(
    _ callbacks: nj_upload_callbacks, _ context: CallbackContext, _ holder: UploadBox.Holder
) -> UploadOperation.Handlers {
    var handlers = UploadOperation.Handlers()
    if let progress = callbacks.progress {
        handlers.progress = { operation, state in
            guard let box = holder.box(of: operation) else { return }
            var state = nj_upload_progress(state)
            progress(context.pointer, Handle.lend(box), &state)
        }
    }
    if let read = callbacks.read {
        handlers.read = { operation, maximum in
            guard let box = holder.box(of: operation) else { return .failed("the upload has ended") }
            return bodyPart(maximum, from: "read") { read(context.pointer, Handle.lend(box), $0, $1) }
        }
    }
    return handlers
}

private func callbacks(
    _ given: UnsafePointer<nj_upload_callbacks>?
) throws(NightjarError) -> nj_upload_callbacks {
    try transferCallbacks(given, \.size, "nj_upload_callbacks", or: nj_upload_callbacks())
}

private func content(
    _ path: UnsafePointer<CChar>?, _ callbacks: nj_upload_callbacks
) throws(NightjarError) -> UploadOperation.Content {
    if let path = text(path) { return .file(path) }
    _ = try required(callbacks.read, "path or callbacks->read")
    return .stream
}

@_cdecl("nj_client_upload") @implementation
public func nj_client_upload(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ options: UnsafePointer<CChar>?, _ length: Int, _ given: UnsafePointer<nj_upload_callbacks>?,
    _ context: UnsafeMutableRawPointer?, _ outUpload: UnsafeMutablePointer<OpaquePointer?>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    outUpload?.pointee = nil
    return setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        let callbacks = try callbacks(given)
        let box = UploadBox()
        let holder = UploadBox.Holder(box)
        defer { holder.release() }
        try client.uploadBlocking(
            request, try content(path, callbacks), try settings(options, length),
            handlers(callbacks, CallbackContext(pointer: context), holder)
        ) { operation in
            box.start(operation)
            outUpload?.pointee = Handle.make(box)
        }
    }
}

@_cdecl("nj_client_start_upload") @implementation
public func nj_client_start_upload(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?,
    _ options: UnsafePointer<CChar>?, _ length: Int, _ queue: OpaquePointer?,
    _ given: UnsafePointer<nj_upload_callbacks>?, _ context: UnsafeMutableRawPointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        let queue = try requiredQueue(queue)
        let callbacks = try callbacks(given)
        let done = try required(callbacks.done, "callbacks->done")
        let context = CallbackContext(pointer: context)
        let box = UploadBox()
        let holder = UploadBox.Holder(box)
        let operation = try client.startUpload(
            request, try content(path, callbacks), try settings(options, length), on: queue,
            handlers(callbacks, context, holder)
        ) { holder.end($0, $1, context, done) }
        box.start(operation)
        return Handle.make(box)
    }
}

@_cdecl("nj_upload_retain") @implementation
public func nj_upload_retain(_ upload: OpaquePointer?) -> OpaquePointer? {
    Handle<UploadBox>.borrow(upload).map { Handle.make($0) }
}

@_cdecl("nj_upload_release") @implementation
public func nj_upload_release(_ upload: OpaquePointer?) { Handle<UploadBox>.release(upload) }

@_cdecl("nj_upload_pause") @implementation
public func nj_upload_pause(_ upload: OpaquePointer?) {
    Handle<UploadBox>.borrow(upload)?.operation?.pause()
}

@_cdecl("nj_upload_resume") @implementation
public func nj_upload_resume(_ upload: OpaquePointer?) {
    Handle<UploadBox>.borrow(upload)?.operation?.resume()
}

@_cdecl("nj_upload_resume_body") @implementation
public func nj_upload_resume_body(_ upload: OpaquePointer?) {
    Handle<UploadBox>.borrow(upload)?.operation?.resumeContent()
}

@_cdecl("nj_upload_cancel") @implementation
public func nj_upload_cancel(_ upload: OpaquePointer?, _ keeps: Bool) {
    Handle<UploadBox>.borrow(upload)?.operation?.cancel(keeps: keeps)
}

@_cdecl("nj_upload_get_progress") @implementation
public func nj_upload_get_progress(_ upload: OpaquePointer?) -> nj_upload_progress {
    let operation = Handle<UploadBox>.borrow(upload)?.operation
    var progress = nj_upload_progress(operation?.progress ?? Upload.Progress())
    if operation == nil { progress.state = NJ_UPLOAD_ENDED }
    return progress
}

@_cdecl("nj_upload_get_content") @implementation
public func nj_upload_get_content(
    _ upload: OpaquePointer?, _ outContent: UnsafeMutablePointer<nj_uploaded_content>?
) -> Bool {
    let result = Handle<UploadBox>.borrow(upload)?.operation?.result
    outContent?.pointee = nj_uploaded_content(
        size: Int64(result?.size ?? 0), sent: Int64(result?.sent ?? 0), resumed: Int64(result?.resumed ?? 0),
        attempts: Int64(result?.attempts ?? 0))
    return result != nil
}

@_cdecl("nj_upload_url") @implementation
public func nj_upload_url(_ upload: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    (Handle<UploadBox>.borrow(upload)?.operation?.result?.url).flatMap { strdup($0) }
}

@_cdecl("nj_upload_response") @implementation
public func nj_upload_response(_ upload: OpaquePointer?) -> OpaquePointer? {
    (Handle<UploadBox>.borrow(upload)?.operation?.result?.response).map {
        Handle.make(ResponseBox($0))
    }
}

@_cdecl("nj_upload_resume_state") @implementation
public func nj_upload_resume_state(_ upload: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    (Handle<UploadBox>.borrow(upload)?.operation?.resumeState).flatMap { strdup($0) }
}
