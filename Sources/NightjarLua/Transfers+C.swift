import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

// Transfers, for C.

private func borrow(_ transfer: OpaquePointer?) -> ScriptTransfer? { Handle<ScriptTransfer>.borrow(transfer) }

private func text(_ text: String?) -> OpaquePointer? {
    text.map { Handle<BorrowedText>.make(BorrowedText($0)) }
}

private typealias Start = (
    Engine, Client, Request, njl_transfer_options
) throws(NightjarError) -> ScriptTransfer

private func start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?,
    _ options: UnsafePointer<njl_transfer_options>?, _ error: UnsafeMutablePointer<OpaquePointer?>?, _ start: Start
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let options = options?.pointee else {
            throw Engine.closedClient
        }
        let (client, requested) = try engine.request(request, of: client)
        return Handle<ScriptTransfer>.make(try start(engine, client, requested, options))
    }
}

@_cdecl("njl_download_start") @implementation
public func njl_download_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?,
    _ options: UnsafePointer<njl_transfer_options>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    start(engine, client, request, options, error) { (engine, client, request, options) throws(NightjarError) in
        try ScriptTransfer.download(engine, client, request, options)
    }
}

@_cdecl("njl_upload_start") @implementation
public func njl_upload_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?,
    _ options: UnsafePointer<njl_transfer_options>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    start(engine, client, request, options, error) { (engine, client, request, options) throws(NightjarError) in
        try ScriptTransfer.upload(engine, client, request, options)
    }
}

@_cdecl("njl_download_response") @implementation
public func njl_download_response(
    _ engine: OpaquePointer?, _ response: OpaquePointer?, _ options: UnsafePointer<njl_transfer_options>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let options = options?.pointee else {
            throw Engine.closedClient
        }
        guard let future = Handle<Future>.borrow(response), let body = future.incoming, let exchange = body.exchange
        else {
            throw NightjarError(
                .invalidArgument, "only a streamed response can become a download; request it with stream = true")
        }
        let transfer = try ScriptTransfer.download(engine, exchange, body, options)
        // A task may wait for the next part of the body.
        engine.notify(future)
        return Handle<ScriptTransfer>.make(transfer)
    }
}

@_cdecl("njl_transfer_release") @implementation
public func njl_transfer_release(_ transfer: OpaquePointer?) {
    borrow(transfer)?.cancel(keeps: true)
    Handle<ScriptTransfer>.release(transfer)
}

// MARK: Events

@_cdecl("njl_transfer_await") @implementation
public func njl_transfer_await(_ transfer: OpaquePointer?, _ wait: OpaquePointer?) -> OpaquePointer? {
    guard let transfer = borrow(transfer), let wait else { return nil }
    return Handle<Future>.make(transfer.waits.add(wait))
}

@_cdecl("njl_transfer_notify") @implementation
public func njl_transfer_notify(_ transfer: OpaquePointer?) { borrow(transfer)?.notify() }

@_cdecl("njl_transfer_wants_request") @implementation
public func njl_transfer_wants_request(_ transfer: OpaquePointer?) -> Bool { borrow(transfer)?.wantsRequest ?? false }

@_cdecl("njl_transfer_connect") @implementation
public func njl_transfer_connect(
    _ transfer: OpaquePointer?, _ engine: OpaquePointer?, _ client: OpaquePointer?,
    _ request: UnsafePointer<njl_request>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    do throws(NightjarError) {
        guard let engine = Handle<Engine>.borrow(engine) else { throw Engine.closedClient }
        let (_, requested) = try engine.request(request, of: client)
        borrow(transfer)?.connect(requested)
        return true
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return false
    }
}

@_cdecl("njl_transfer_wants_bytes") @implementation
public func njl_transfer_wants_bytes(_ transfer: OpaquePointer?) -> Bool {
    guard let transfer = borrow(transfer) else { return false }
    return transfer.wantsBytes && !transfer.isEnded
}

@_cdecl("njl_transfer_provide") @implementation
public func njl_transfer_provide(_ transfer: OpaquePointer?, _ bytes: UnsafePointer<CChar>?, _ length: Int) {
    guard let bytes else {
        borrow(transfer)?.provide(.end)
        return
    }
    borrow(transfer)?.provide(.bytes(ByteBuffer(bytes: UnsafeRawBufferPointer(start: bytes, count: length))))
}

@_cdecl("njl_transfer_take_head") @implementation
public func njl_transfer_take_head(_ transfer: OpaquePointer?) -> OpaquePointer? {
    (borrow(transfer)?.takeHead()).map { Handle<Future>.make(Future(.success($0))) }
}

@_cdecl("njl_transfer_take_progress") @implementation
public func njl_transfer_take_progress(
    _ transfer: OpaquePointer?, _ progress: UnsafeMutablePointer<njl_transfer_progress>?
) -> Bool {
    guard let taken = borrow(transfer)?.takeProgress() else { return false }
    progress?.pointee = taken
    return true
}

// MARK: State

@_cdecl("njl_transfer_is_ended") @implementation
public func njl_transfer_is_ended(_ transfer: OpaquePointer?) -> Bool { borrow(transfer)?.isEnded ?? true }

@_cdecl("njl_transfer_error") @implementation
public func njl_transfer_error(_ transfer: OpaquePointer?) -> OpaquePointer? {
    (borrow(transfer)?.error).map { Handle<Future>.make(Future(.failure($0))) }
}

@_cdecl("njl_transfer_get_progress") @implementation
public func njl_transfer_get_progress(_ transfer: OpaquePointer?) -> njl_transfer_progress {
    switch borrow(transfer)?.operation {
    case .download(let operation): njl_transfer_progress(operation.progress)
    case .upload(let operation): njl_transfer_progress(operation.progress)
    case nil: njl_transfer_progress(Download.Progress())
    }
}

@_cdecl("njl_transfer_get_result") @implementation
public func njl_transfer_get_result(
    _ transfer: OpaquePointer?, _ result: UnsafeMutablePointer<njl_transfer_result>?
) -> Bool {
    switch borrow(transfer)?.operation {
    case .download(let operation):
        guard let file = operation.file else { return false }
        result?.pointee = njl_transfer_result(
            size: Int64(file.size), count: Int64(file.received), resumed: Int64(file.resumed),
            attempts: Int64(file.attempts))
        return true
    case .upload(let operation):
        guard let found = operation.result else { return false }
        result?.pointee = njl_transfer_result(
            size: Int64(found.size), count: Int64(found.sent), resumed: Int64(found.resumed),
            attempts: Int64(found.attempts))
        return true
    case nil: return false
    }
}

@_cdecl("njl_transfer_location") @implementation
public func njl_transfer_location(_ transfer: OpaquePointer?) -> OpaquePointer? {
    switch borrow(transfer)?.operation {
    case .download(let operation): text(operation.file?.path)
    case .upload(let operation): text(operation.result?.url)
    case nil: nil
    }
}

@_cdecl("njl_transfer_response") @implementation
public func njl_transfer_response(_ transfer: OpaquePointer?) -> OpaquePointer? {
    guard case .upload(let operation)? = borrow(transfer)?.operation, let response = operation.result?.response else {
        return nil
    }
    return Handle<Future>.make(Future(.success(response)))
}

@_cdecl("njl_transfer_state") @implementation
public func njl_transfer_state(_ transfer: OpaquePointer?) -> OpaquePointer? {
    text(borrow(transfer)?.operation?.work.resumeState)
}

@_cdecl("njl_transfer_cancel") @implementation
public func njl_transfer_cancel(_ transfer: OpaquePointer?, _ keeps: Bool) { borrow(transfer)?.cancel(keeps: keeps) }

@_cdecl("njl_transfer_pause") @implementation
public func njl_transfer_pause(_ transfer: OpaquePointer?) { borrow(transfer)?.operation?.work.pause() }

@_cdecl("njl_transfer_resume") @implementation
public func njl_transfer_resume(_ transfer: OpaquePointer?) { borrow(transfer)?.operation?.work.resume() }

// MARK: The journal

@_cdecl("njl_client_remove_transfer_entry") @implementation
public func njl_client_remove_transfer_entry(
    _ client: OpaquePointer?, _ id: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let client, let borrowed = Handle<Client>.borrow(client) else { throw Engine.closedClient }
        try borrowed.removeTransfer(try id.text("the id"))
        return client
    } != nil
}
