import CNightjar
import NightjarHTTP
import NightjarHandles
import NightjarLua
import NightjarSystem

@_cdecl("nj_script_call_count") @implementation
public func nj_script_call_count(_ call: OpaquePointer?) -> Int {
    Handle<ScriptCall>.borrow(call)?.count ?? 0
}

@_cdecl("nj_script_call_kind") @implementation
public func nj_script_call_kind(_ call: OpaquePointer?, _ index: Int) -> nj_value_kind {
    nj_value_kind(Handle<ScriptCall>.borrow(call)?.kind(index).rawValue ?? NJ_VALUE_NIL.rawValue)
}

@_cdecl("nj_script_call_boolean") @implementation
public func nj_script_call_boolean(_ call: OpaquePointer?, _ index: Int) -> Bool {
    Handle<ScriptCall>.borrow(call)?.boolean(index) ?? false
}

@_cdecl("nj_script_call_integer") @implementation
public func nj_script_call_integer(_ call: OpaquePointer?, _ index: Int) -> Int64 {
    Handle<ScriptCall>.borrow(call)?.integer(index) ?? 0
}

@_cdecl("nj_script_call_number") @implementation
public func nj_script_call_number(_ call: OpaquePointer?, _ index: Int) -> Double {
    Handle<ScriptCall>.borrow(call)?.number(index) ?? 0
}

@_cdecl("nj_script_call_string") @implementation
public func nj_script_call_string(
    _ call: OpaquePointer?, _ index: Int, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let bytes = Handle<ScriptCall>.borrow(call)?.string(index)
    outLength?.pointee = bytes?.count ?? 0
    return bytes?.baseAddress?.assumingMemoryBound(to: CChar.self)
}

@_cdecl("nj_script_call_json") @implementation
public func nj_script_call_json(
    _ call: OpaquePointer?, _ index: Int, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let json = Handle<ScriptCall>.borrow(call)?.lendJSON(index)
    outLength?.pointee = json.map { strlen($0) } ?? 0
    return json
}

@_cdecl("nj_script_call_return_nil") @implementation
public func nj_script_call_return_nil(_ call: OpaquePointer?) {
    Handle<ScriptCall>.borrow(call)?.returnNil()
}

@_cdecl("nj_script_call_return_boolean") @implementation
public func nj_script_call_return_boolean(_ call: OpaquePointer?, _ value: Bool) {
    Handle<ScriptCall>.borrow(call)?.returnBoolean(value)
}

@_cdecl("nj_script_call_return_integer") @implementation
public func nj_script_call_return_integer(_ call: OpaquePointer?, _ value: Int64) {
    Handle<ScriptCall>.borrow(call)?.returnInteger(value)
}

@_cdecl("nj_script_call_return_number") @implementation
public func nj_script_call_return_number(_ call: OpaquePointer?, _ value: Double) {
    Handle<ScriptCall>.borrow(call)?.returnNumber(value)
}

@_cdecl("nj_script_call_return_string") @implementation
public func nj_script_call_return_string(_ call: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ length: Int) {
    guard length >= 0, bytes != nil || length == 0 else { return }
    Handle<ScriptCall>.borrow(call)?.returnString(UnsafeRawBufferPointer(start: bytes, count: length))
}

@_cdecl("nj_script_call_return_json") @implementation
public func nj_script_call_return_json(
    _ call: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int
) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<ScriptCall>.borrow(call), "call").returnJSON(text: document(json, length))
    }
}

@_cdecl("nj_script_call_fail") @implementation
public func nj_script_call_fail(_ call: OpaquePointer?, _ message: UnsafePointer<CChar>?) {
    Handle<ScriptCall>.borrow(call)?.fail(text(message) ?? failed)
}

@_cdecl("nj_script_call_defer") @implementation
public func nj_script_call_defer(_ call: OpaquePointer?) -> OpaquePointer? {
    Handle<ScriptCall>.borrow(call)?.deferResult().map { Handle.make($0) }
}

// MARK: Replies

@_cdecl("nj_script_reply_return_json") @implementation
public func nj_script_reply_return_json(
    _ reply: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int
) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<ScriptReply>.borrow(reply), "reply").returnJSON(text: document(json, length))
    }
}

@_cdecl("nj_script_reply_fail") @implementation
public func nj_script_reply_fail(_ reply: OpaquePointer?, _ message: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<ScriptReply>.borrow(reply), "reply").fail(text(message) ?? failed)
    }
}

@_cdecl("nj_script_reply_release") @implementation
public func nj_script_reply_release(_ reply: OpaquePointer?) { Handle<ScriptReply>.release(reply) }

/// The message of a host function that gives no valid one.
private let failed = "the host function failed"
