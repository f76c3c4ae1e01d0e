import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem

private func settings(_ json: UnsafePointer<CChar>?, _ length: Int) throws(NightjarError) -> WebSocketSettings {
    json == nil ? WebSocketSettings() : try WebSocketSettings(json: try document(json, length))
}

private func box(_ socket: OpaquePointer?) throws(NightjarError) -> WebSocketBox {
    try required(Handle<WebSocketBox>.borrow(socket), "socket")
}

private func message(
    _ kind: nj_message_kind, _ data: UnsafeRawPointer?, _ length: Int
) throws(NightjarError) -> WebSocketMessage {
    guard kind == NJ_MESSAGE_TEXT || kind == NJ_MESSAGE_BINARY else {
        throw NightjarError(
            .invalidArgument, "kind must be NJ_MESSAGE_TEXT or NJ_MESSAGE_BINARY, got \(kind.rawValue)")
    }
    guard length >= 0 else { throw NightjarError(.invalidArgument, "length must be at most SSIZE_MAX") }
    guard data != nil || length == 0 else { throw NightjarError(.invalidArgument, "data is NULL") }
    let bytes = UnsafeRawBufferPointer(start: data, count: length)
    return WebSocketMessage(
        kind == NJ_MESSAGE_TEXT ? .text : .binary, try ByteBuffer(copying: bytes, for: "a WebSocket message"))
}

private func code(_ number: Int32) -> WebSocketCloseCode? {
    number == 0 ? nil : WebSocketCloseCode(clamping: Int(number))
}

@_cdecl("nj_message_get_kind") @implementation
public func nj_message_get_kind(_ message: OpaquePointer?) -> nj_message_kind {
    Handle<MessageBox>.borrow(message)?.kind ?? NJ_MESSAGE_BINARY
}

@_cdecl("nj_message_is_first") @implementation
public func nj_message_is_first(_ message: OpaquePointer?) -> Bool {
    Handle<MessageBox>.borrow(message)?.isFirst ?? true
}

@_cdecl("nj_message_is_last") @implementation
public func nj_message_is_last(_ message: OpaquePointer?) -> Bool { Handle<MessageBox>.borrow(message)?.isLast ?? true }

@_cdecl("nj_message_data") @implementation
public func nj_message_data(
    _ message: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let box = Handle<MessageBox>.borrow(message)
    outLength?.pointee = box?.length ?? 0
    return box?.data
}

@_cdecl("nj_websocket_new") @implementation
public func nj_websocket_new(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        return Handle.make(try WebSocketBox(client, request, try settings(options, length)))
    }
}

@_cdecl("nj_client_start_websocket") @implementation
public func nj_client_start_websocket(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ length: Int,
    _ queue: OpaquePointer?, _ callbacks: UnsafePointer<nj_websocket_callbacks>?,
    _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        let queue = try requiredQueue(queue)
        let callbacks = try WebSocketCallbacks(callbacks, context)
        return Handle.make(
            try WebSocketBox(client, request, try settings(options, length), on: queue, callbacks))
    }
}

@_cdecl("nj_websocket_retain") @implementation
public func nj_websocket_retain(_ socket: OpaquePointer?) -> OpaquePointer? {
    Handle<WebSocketBox>.borrow(socket).map { Handle.make($0) }
}

@_cdecl("nj_websocket_release") @implementation
public func nj_websocket_release(_ socket: OpaquePointer?) { Handle<WebSocketBox>.release(socket) }

@_cdecl("nj_websocket_connect") @implementation
public func nj_websocket_connect(
    _ socket: OpaquePointer?, _ seconds: Double, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        try box(socket).waitUntilOpen(within: try limit(seconds))
    }
}

@_cdecl("nj_websocket_receive") @implementation
public func nj_websocket_receive(
    _ socket: OpaquePointer?, _ seconds: Double, _ outMessage: UnsafeMutablePointer<OpaquePointer?>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    outMessage?.pointee = nil
    return setting(outError) { () throws(NightjarError) in
        let message = try box(socket).receive(within: try limit(seconds))
        outMessage?.pointee = message.map { Handle.lend($0) }
    }
}

@_cdecl("nj_websocket_send") @implementation
public func nj_websocket_send(
    _ socket: OpaquePointer?, _ kind: nj_message_kind, _ data: UnsafeRawPointer?, _ length: Int, _ seconds: Double,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try box(socket)
        try box.open().sendBlocking(
            try message(kind, data, length), isFirst: box.isOpening, within: try limit(seconds))
    }
}

@_cdecl("nj_websocket_try_send") @implementation
public func nj_websocket_try_send(
    _ socket: OpaquePointer?, _ kind: nj_message_kind, _ data: UnsafeRawPointer?, _ length: Int,
    _ outSent: UnsafeMutablePointer<Bool>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    outSent?.pointee = false
    return setting(outError) { () throws(NightjarError) in
        let box = try box(socket)
        let isSent = try box.open().send(try message(kind, data, length), isFirst: box.isOpening)
        outSent?.pointee = isSent
    }
}

@_cdecl("nj_websocket_ping") @implementation
public func nj_websocket_ping(
    _ socket: OpaquePointer?, _ seconds: Double, _ outSeconds: UnsafeMutablePointer<Double>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    outSeconds?.pointee = 0
    return setting(outError) { () throws(NightjarError) in
        let time = try box(socket).open().pingBlocking(within: try limit(seconds))
        outSeconds?.pointee = time.inSeconds
    }
}

@_cdecl("nj_websocket_close") @implementation
public func nj_websocket_close(
    _ socket: OpaquePointer?, _ number: Int32, _ reason: UnsafePointer<CChar>?, _ seconds: Double,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try box(socket)
        let limit = try limit(seconds)
        try box.checkMayBlock()
        try box.open().close(code: code(number), reason: try optional(reason, "reason") ?? "")
        try box.waitUntilClosed(within: limit)
    }
}

@_cdecl("nj_websocket_start_close") @implementation
public func nj_websocket_start_close(
    _ socket: OpaquePointer?, _ number: Int32, _ reason: UnsafePointer<CChar>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        try box(socket).open().close(code: code(number), reason: try optional(reason, "reason") ?? "")
    }
}

@_cdecl("nj_websocket_cancel") @implementation
public func nj_websocket_cancel(_ socket: OpaquePointer?) {
    guard let box = Handle<WebSocketBox>.borrow(socket), !box.isOfParent else { return }
    box.session?.cancel()
}

@_cdecl("nj_websocket_get_state") @implementation
public func nj_websocket_get_state(_ socket: OpaquePointer?) -> nj_websocket_state {
    switch session(socket)?.currentState {
    case .connecting: NJ_WEBSOCKET_CONNECTING
    case .open: NJ_WEBSOCKET_OPEN
    case .waiting: NJ_WEBSOCKET_WAITING
    case .closing: NJ_WEBSOCKET_CLOSING
    case .closed, nil: NJ_WEBSOCKET_CLOSED
    }
}

@_cdecl("nj_websocket_response") @implementation
public func nj_websocket_response(_ socket: OpaquePointer?) -> OpaquePointer? {
    session(socket)?.response.map { Handle.make(ResponseBox($0)) }
}

@_cdecl("nj_websocket_subprotocol") @implementation
public func nj_websocket_subprotocol(_ socket: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    session(socket)?.subprotocol.flatMap { strdup($0) }
}

@_cdecl("nj_websocket_close_code") @implementation
public func nj_websocket_close_code(_ socket: OpaquePointer?) -> Int32 {
    session(socket)?.closure.map { Int32($0.code.rawValue) } ?? 0
}

@_cdecl("nj_websocket_close_reason") @implementation
public func nj_websocket_close_reason(_ socket: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    session(socket).flatMap { strdup($0.closure?.reason ?? "") }
}

@_cdecl("nj_websocket_explain") @implementation
public func nj_websocket_explain(_ socket: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    session(socket).flatMap { strdup($0.explanation) }
}

/// Nil for NULL, and after fork.
private func session(_ socket: OpaquePointer?) -> WebSocketSession? {
    Handle<WebSocketBox>.borrow(socket).flatMap { $0.isOfParent ? nil : $0.session }
}
