import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

/// A transfer at one time, and the texts that C borrows.
private final class BackgroundTransferBox: Sendable {
    let transfer: BackgroundTransfer
    let id, url, path: CString
    let uploadURL: CString?
    let error: ErrorBox?

    init(_ transfer: BackgroundTransfer) {
        self.transfer = transfer
        (id, url, path) = (CString(transfer.id), CString(transfer.url), CString(transfer.path))
        uploadURL = transfer.uploadURL.map(CString.init)
        error = transfer.error.map(ErrorBox.init)
    }
}

private final class TransferListBox: Sendable {
    let transfers: [BackgroundTransferBox]

    init(_ transfers: [BackgroundTransfer]) { self.transfers = transfers.map(BackgroundTransferBox.init) }
}

extension nj_transfer_state {
    fileprivate init(_ state: BackgroundTransfer.State) {
        self =
            switch state {
            case .waiting: NJ_TRANSFER_WAITING
            case .running: NJ_TRANSFER_RUNNING
            case .paused: NJ_TRANSFER_PAUSED
            case .done: NJ_TRANSFER_DONE
            case .failed: NJ_TRANSFER_FAILED
            case .cancelled: NJ_TRANSFER_CANCELLED
            case .inDoubt: NJ_TRANSFER_IN_DOUBT
            }
    }
}

private func borrowed(_ transfers: OpaquePointer?) throws(NightjarError) -> Transfers {
    try required(Handle<Transfers>.borrow(transfers), "transfers")
}

@_cdecl("nj_transfers_new") @implementation
public func nj_transfers_new(
    _ journal: UnsafePointer<CChar>?, _ transferd: UnsafePointer<CChar>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let (journal, transferd) = (try optional(journal, "journal"), try optional(transferd, "transferd"))
        return Handle.make(try Transfers(journal: journal, transferd: transferd))
    }
}

@_cdecl("nj_transfers_free") @implementation
public func nj_transfers_free(_ transfers: OpaquePointer?) { _ = Handle<Transfers>.take(transfers) }

@_cdecl("nj_transfers_wake") @implementation
public func nj_transfers_wake(
    _ transfers: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in try borrowed(transfers).wake() }
}

@_cdecl("nj_transfers_start") @implementation
public func nj_transfers_start(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let transfers = try borrowed(transfers)
        let id = try required(text(id), "id")
        return Handle.make(BackgroundTransferBox(try transfers.start(id, json: try document(json, length))))
    }
}

@_cdecl("nj_transfers_get") @implementation
public func nj_transfers_get(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    let found = reporting(to: outError) { () throws(NightjarError) in
        try borrowed(transfers).get(try required(text(id), "id"))
    }
    return found.flatMap { $0 }.map { Handle.make(BackgroundTransferBox($0)) }
}

@_cdecl("nj_transfers_list") @implementation
public func nj_transfers_list(
    _ transfers: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        Handle.make(TransferListBox(try borrowed(transfers).list()))
    }
}

@_cdecl("nj_transfers_wait") @implementation
public func nj_transfers_wait(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ timeout: Double,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let transfers = try borrowed(transfers)
        let id = try required(text(id), "id")
        let limit = timeout == 0 ? nil : try lifetime(timeout)
        return Handle.make(BackgroundTransferBox(try transfers.waitBlocking(id, timeout: limit)))
    }
}

@_cdecl("nj_transfers_next_ended") @implementation
public func nj_transfers_next_ended(
    _ transfers: OpaquePointer?, _ timeout: Double, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    let found = reporting(to: outError) { () throws(NightjarError) in
        let limit = timeout == 0 ? nil : try lifetime(timeout)
        return try borrowed(transfers).nextEndedBlocking(timeout: limit)
    }
    return found.flatMap { $0 }.map { Handle.make(BackgroundTransferBox($0)) }
}

private func change(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: (Transfers, String) throws(NightjarError) -> Void
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        try body(try borrowed(transfers), try required(text(id), "id"))
    }
}

@_cdecl("nj_transfers_pause") @implementation
public func nj_transfers_pause(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    change(transfers, id, outError) { (all, id) throws(NightjarError) in try all.pause(id) }
}

@_cdecl("nj_transfers_resume") @implementation
public func nj_transfers_resume(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    change(transfers, id, outError) { (all, id) throws(NightjarError) in try all.resume(id) }
}

@_cdecl("nj_transfers_cancel") @implementation
public func nj_transfers_cancel(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    change(transfers, id, outError) { (all, id) throws(NightjarError) in try all.cancel(id) }
}

@_cdecl("nj_transfers_retry") @implementation
public func nj_transfers_retry(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    change(transfers, id, outError) { (all, id) throws(NightjarError) in try all.retry(id) }
}

@_cdecl("nj_transfers_log_json") @implementation
public func nj_transfers_log_json(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> UnsafeMutablePointer<CChar>? {
    outLength?.pointee = 0
    return reporting(to: outError) { () throws(NightjarError) in
        let entries = try borrowed(transfers).log(try optional(id, "id"))
        let json = "[\(entries.map(\.json).joined(separator: ","))]"
        guard let text = strdup(json) else { throw .noMemory(json.utf8.count, for: "the log") }
        outLength?.pointee = json.utf8.count
        return text
    }
}

@_cdecl("nj_transfers_acknowledge") @implementation
public func nj_transfers_acknowledge(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    change(transfers, id, outError) { (all, id) throws(NightjarError) in try all.acknowledge(id) }
}

@_cdecl("nj_transfers_remove") @implementation
public func nj_transfers_remove(
    _ transfers: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    change(transfers, id, outError) { (all, id) throws(NightjarError) in try all.remove(id) }
}

// MARK: Lists

@_cdecl("nj_transfer_list_free") @implementation
public func nj_transfer_list_free(_ list: OpaquePointer?) { _ = Handle<TransferListBox>.take(list) }

@_cdecl("nj_transfer_list_count") @implementation
public func nj_transfer_list_count(_ list: OpaquePointer?) -> Int {
    Handle<TransferListBox>.borrow(list)?.transfers.count ?? 0
}

@_cdecl("nj_transfer_list_at") @implementation
public func nj_transfer_list_at(_ list: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let transfers = Handle<TransferListBox>.borrow(list)?.transfers, transfers.indices.contains(index) else {
        return nil
    }
    return Handle.lend(transfers[index])
}

// MARK: A transfer

private func box(_ transfer: OpaquePointer?) -> BackgroundTransferBox? {
    Handle<BackgroundTransferBox>.borrow(transfer)
}

@_cdecl("nj_transfer_free") @implementation
public func nj_transfer_free(_ transfer: OpaquePointer?) { _ = Handle<BackgroundTransferBox>.take(transfer) }

@_cdecl("nj_transfer_id") @implementation
public func nj_transfer_id(_ transfer: OpaquePointer?) -> UnsafePointer<CChar>? { box(transfer)?.id.pointer }

@_cdecl("nj_transfer_is_upload") @implementation
public func nj_transfer_is_upload(_ transfer: OpaquePointer?) -> Bool { box(transfer)?.transfer.kind == .upload }

@_cdecl("nj_transfer_get_state") @implementation
public func nj_transfer_get_state(_ transfer: OpaquePointer?) -> nj_transfer_state {
    box(transfer).map { nj_transfer_state($0.transfer.state) } ?? NJ_TRANSFER_WAITING
}

@_cdecl("nj_transfer_url") @implementation
public func nj_transfer_url(_ transfer: OpaquePointer?) -> UnsafePointer<CChar>? { box(transfer)?.url.pointer }

@_cdecl("nj_transfer_path") @implementation
public func nj_transfer_path(_ transfer: OpaquePointer?) -> UnsafePointer<CChar>? { box(transfer)?.path.pointer }

@_cdecl("nj_transfer_upload_url") @implementation
public func nj_transfer_upload_url(_ transfer: OpaquePointer?) -> UnsafePointer<CChar>? {
    box(transfer)?.uploadURL?.pointer
}

@_cdecl("nj_transfer_transferred") @implementation
public func nj_transfer_transferred(_ transfer: OpaquePointer?) -> Int64 {
    Int64(box(transfer)?.transfer.transferred ?? 0)
}

@_cdecl("nj_transfer_total") @implementation
public func nj_transfer_total(_ transfer: OpaquePointer?) -> Int64 {
    (box(transfer)?.transfer.total).map { Int64($0) } ?? -1
}

@_cdecl("nj_transfer_rate") @implementation
public func nj_transfer_rate(_ transfer: OpaquePointer?) -> Double { box(transfer)?.transfer.rate ?? -1 }

@_cdecl("nj_transfer_attempts") @implementation
public func nj_transfer_attempts(_ transfer: OpaquePointer?) -> Int { box(transfer)?.transfer.attempts ?? 0 }

@_cdecl("nj_transfer_error") @implementation
public func nj_transfer_error(_ transfer: OpaquePointer?) -> OpaquePointer? {
    box(transfer)?.error.map { Handle.lend($0) }
}
