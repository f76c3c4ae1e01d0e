import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A store request as C sees it, its key and its record. If C releases it without a response, the operation fails.
final class StoreRequestBox: Sendable {
    let request: HostTokenStore.Request
    let key: CString

    init(_ request: HostTokenStore.Request) {
        self.request = request
        key = CString(request.key)
        if case .save(let bytes) = request.operation {
            record = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            record.copyBytes(from: bytes)
        } else {
            record = UnsafeMutableRawBufferPointer(start: nil, count: 0)
        }
    }

    /// The record to save. Empty for other operations.
    nonisolated(unsafe) let record: UnsafeMutableRawBufferPointer

    deinit { record.deallocate() }
}

@_cdecl("nj_config_set_token_store") @implementation
public func nj_config_set_token_store(
    _ config: OpaquePointer?, _ queue: OpaquePointer?, _ access: nj_store_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard let access else { return configuration.hostTokens = nil }
        let queue = queue == nil ? nil : try requiredQueue(queue)
        let context = CallbackContext(pointer: context)
        configuration.hostTokens = HostTokenStore.Access(onQueuesAnd: queue) { request in
            let box = StoreRequestBox(request)
            withExtendedLifetime(box) { access(context.pointer, Handle.lend(box)) }
        }
    }
}

@_cdecl("nj_store_request_operation") @implementation
public func nj_store_request_operation(_ request: OpaquePointer?) -> nj_store_operation {
    switch Handle<StoreRequestBox>.borrow(request)?.request.operation {
    case nil: NJ_STORE_NONE
    case .load: NJ_STORE_LOAD
    case .save: NJ_STORE_SAVE
    case .delete: NJ_STORE_DELETE
    }
}

@_cdecl("nj_store_request_key") @implementation
public func nj_store_request_key(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<StoreRequestBox>.borrow(request)?.key.pointer
}

@_cdecl("nj_store_request_record") @implementation
public func nj_store_request_record(
    _ request: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafeRawPointer? {
    let record = Handle<StoreRequestBox>.borrow(request)?.record
    outLength?.pointee = record?.count ?? 0
    return record?.baseAddress.map { UnsafeRawPointer($0) }
}

@_cdecl("nj_store_request_respond") @implementation
public func nj_store_request_respond(
    _ request: OpaquePointer?, _ record: UnsafeRawPointer?, _ length: Int
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<StoreRequestBox>.borrow(request), "request")
        guard let record else { return try box.request.respond(nil) }
        // A record that is too large is not copied.
        guard (0...HostTokenStore.Request.largestRecord).contains(length) else {
            throw NightjarError(.invalidArgument, "the record must have at most 1 MiB, got \(length) bytes")
        }
        try box.request.respond(Array(UnsafeRawBufferPointer(start: record, count: length)))
    }
}

@_cdecl("nj_store_request_fail") @implementation
public func nj_store_request_fail(_ request: OpaquePointer?, _ message: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<StoreRequestBox>.borrow(request), "request")
        try box.request.fail(try optional(message, "message"))
    }
}

@_cdecl("nj_store_request_retain") @implementation
public func nj_store_request_retain(_ request: OpaquePointer?) -> OpaquePointer? {
    Handle<StoreRequestBox>.borrow(request).map { Handle.make($0) }
}

@_cdecl("nj_store_request_release") @implementation
public func nj_store_request_release(_ request: OpaquePointer?) {
    _ = Handle<StoreRequestBox>.take(request)
}
