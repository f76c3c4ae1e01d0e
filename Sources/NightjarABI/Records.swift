import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// The callback of a request that receives the lines, the JSON values or the events of its response.
enum RecordCallback {
    case lines(nj_line_fn, CallbackContext)
    case values(nj_json_fn, CallbackContext)
    case events(nj_event_fn, CallbackContext)

    /// Makes `handlers` call this callback.
    func add(to handlers: inout TaskHandlers, _ maximumLength: Int) {
        switch self {
        case .lines(let callback, let context):
            handlers.deliverRecords({ _ in .lines }, maximumLength: maximumLength) { task, line in
                line.bytes.withUnsafeReadableBytes { bytes in
                    let text = bytes.assumingMemoryBound(to: CChar.self)
                    callback(context.pointer, Handle.lend(task), text.baseAddress, text.count)
                }
            }
        case .values(let callback, let context):
            handlers.deliverRecords(
                { .json(contentType: $0.headers["content-type"]) }, maximumLength: maximumLength
            ) { task, record throws(NightjarError) in
                let value = try JSONValue(
                    parsing: record.bytes, of: "value \(record.number) of the response")
                let box = ResponseBox(record.response.with(body: record.bytes), json: value)
                withExtendedLifetime(box) { callback(context.pointer, Handle.lend(task), Handle.lend(box)) }
            }
        case .events(let callback, let context):
            handlers.deliverEvents(maximumSize: maximumLength) { _, event in
                let box = EventBox(event)
                withExtendedLifetime(box) { callback(context.pointer, Handle.lend(box)) }
            }
        }
    }
}

@_cdecl("nj_request_on_line") @implementation
public func nj_request_on_line(
    _ request: OpaquePointer?, _ line: nj_line_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.onLine(line, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_on_json") @implementation
public func nj_request_on_json(
    _ request: OpaquePointer?, _ value: nj_json_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.onJSON(value, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_on_event") @implementation
public func nj_request_on_event(
    _ request: OpaquePointer?, _ event: nj_event_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.onEvent(event, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_set_max_line") @implementation
public func nj_request_set_max_line(_ request: OpaquePointer?, _ bytes: Int) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        guard 1...Configuration.largestBody ~= bytes else {  // a size_t above Int.max is negative here
            throw NightjarError(
                .invalidArgument,
                "max_line must be between 1 and \(Configuration.largestBody) bytes, got \(UInt(bitPattern: bytes))")
        }
        box.maximumLine = bytes
    }
}

@_cdecl("nj_error_delivered") @implementation
public func nj_error_delivered(_ error: OpaquePointer?) -> Int64 {
    Int64(Handle<ErrorBox>.borrow(error)?.error.delivered ?? -1)
}
