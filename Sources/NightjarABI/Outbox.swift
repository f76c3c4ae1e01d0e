import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

/// An entry at one time, and the texts that C borrows.
private final class OutboxEntryBox: Sendable {
    let entry: Outbox.Entry
    let id, json: CString
    let error: ErrorBox?

    init(_ entry: Outbox.Entry) {
        self.entry = entry
        (id, json) = (CString(entry.id), CString(entry.json))
        error = entry.error.map(ErrorBox.init)
    }
}

extension nj_outbox_state {
    fileprivate init(_ state: OutboxState) {
        self =
            switch state {
            case .pending: NJ_OUTBOX_PENDING
            case .sending: NJ_OUTBOX_SENDING
            case .conflict: NJ_OUTBOX_CONFLICT
            case .parked: NJ_OUTBOX_PARKED
            case .inDoubt: NJ_OUTBOX_IN_DOUBT
            case .done: NJ_OUTBOX_DONE
            }
    }
}

private func borrowed(_ outbox: OpaquePointer?) throws(NightjarError) -> Outbox {
    try required(Handle<Outbox>.borrow(outbox), "outbox")
}

@_cdecl("nj_outbox_new") @implementation
public func nj_outbox_new(
    _ client: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ length: Int, _ queue: OpaquePointer?,
    _ changed: nj_outbox_fn?, _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let settings = options == nil ? OutboxSettings() : try OutboxSettings(json: try document(options, length))
        let queue = try requiredQueue(queue)
        guard let changed else { return Handle.make(try Outbox(client, settings, on: queue)) }
        let context = CallbackContext(pointer: context)
        let outbox = try Outbox(client, settings, on: queue) { entry in
            let box = OutboxEntryBox(entry)
            withExtendedLifetime(box) { changed(context.pointer, Handle.lend(box)) }
        }
        return Handle.make(outbox)
    }
}

@_cdecl("nj_outbox_free") @implementation
public func nj_outbox_free(_ outbox: OpaquePointer?) { Handle<Outbox>.take(outbox)?.close() }

@_cdecl("nj_outbox_record") @implementation
public func nj_outbox_record(
    _ outbox: OpaquePointer?, _ request: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let outbox = try borrowed(outbox)
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: outbox.client)
        let settings =
            options == nil ? OutboxRecordOptions() : try OutboxRecordOptions(json: try document(options, length))
        return Handle.make(OutboxEntryBox(try outbox.record(request, settings)))
    }
}

@_cdecl("nj_outbox_get") @implementation
public func nj_outbox_get(
    _ outbox: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    let found = reporting(to: outError) { () throws(NightjarError) in
        try borrowed(outbox).entry(try required(text(id), "id"))
    }
    return found.flatMap { $0 }.map { Handle.make(OutboxEntryBox($0)) }
}

@_cdecl("nj_outbox_list_json") @implementation
public func nj_outbox_list_json(
    _ outbox: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> UnsafeMutablePointer<CChar>? {
    outLength?.pointee = 0
    return reporting(to: outError) { () throws(NightjarError) in
        let json = "[\(try borrowed(outbox).entries().map(\.json).joined(separator: ","))]"
        guard let text = strdup(json) else { throw .noMemory(json.utf8.count, for: "the entries") }
        outLength?.pointee = json.utf8.count
        return text
    }
}

@_cdecl("nj_outbox_wait") @implementation
public func nj_outbox_wait(
    _ outbox: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ timeout: Double,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let outbox = try borrowed(outbox)
        let id = try required(text(id), "id")
        let limit = timeout == 0 ? nil : try lifetime(timeout)
        return Handle.make(OutboxEntryBox(try outbox.waitBlocking(id, timeout: limit)))
    }
}

@_cdecl("nj_outbox_retry") @implementation
public func nj_outbox_retry(
    _ outbox: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in try borrowed(outbox).retry(try required(text(id), "id")) }
}

@_cdecl("nj_outbox_resolve") @implementation
public func nj_outbox_resolve(
    _ outbox: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let outbox = try borrowed(outbox)
        let id = try required(text(id), "id")
        try outbox.resolve(id, json: json == nil ? "{}" : String(decoding: try document(json, length), as: UTF8.self))
    }
}

@_cdecl("nj_outbox_remove") @implementation
public func nj_outbox_remove(
    _ outbox: OpaquePointer?, _ id: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in try borrowed(outbox).remove(try required(text(id), "id")) }
}

// MARK: An entry

private func box(_ entry: OpaquePointer?) -> OutboxEntryBox? { Handle<OutboxEntryBox>.borrow(entry) }

@_cdecl("nj_outbox_entry_free") @implementation
public func nj_outbox_entry_free(_ entry: OpaquePointer?) { _ = Handle<OutboxEntryBox>.take(entry) }

@_cdecl("nj_outbox_entry_id") @implementation
public func nj_outbox_entry_id(_ entry: OpaquePointer?) -> UnsafePointer<CChar>? { box(entry)?.id.pointer }

@_cdecl("nj_outbox_entry_state") @implementation
public func nj_outbox_entry_state(_ entry: OpaquePointer?) -> nj_outbox_state {
    box(entry).map { nj_outbox_state($0.entry.state) } ?? NJ_OUTBOX_PENDING
}

@_cdecl("nj_outbox_entry_error") @implementation
public func nj_outbox_entry_error(_ entry: OpaquePointer?) -> OpaquePointer? {
    box(entry)?.error.map { Handle.lend($0) }
}

@_cdecl("nj_outbox_entry_json") @implementation
public func nj_outbox_entry_json(
    _ entry: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? { lend(box(entry)?.json, outLength) }
