import CLua
import DequeModule
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A WebSocket of a script. Belongs to the thread that runs the Lua state.
final class ScriptWebSocket: @unchecked Sendable {
    enum Step { case message(WebSocketMessage), later, end, failed }

    private unowned let engine: Engine
    private(set) var session: WebSocketSession?
    private var messages = Deque<WebSocketMessage>()
    private(set) var end: Result<Void, NightjarError>?
    /// Whether a connection was opened and not reported to the script.
    private(set) var hasOpened = false
    /// Whether a connection waits for ``reconnect(_:)``.
    private(set) var wantsRequest = false
    let waits: EventWaits
    /// The memory of the script that unread messages use.
    private var held = HeldBytes()
    private let reservation: MemoryReservation?

    /// - Parameters:
    ///   - handlesOpen: Whether the script has a function for new connections.
    ///   - preparesRequests: Whether the script makes the request of each connection but the first one.
    /// - Throws: `too_large` if the WebSocket exceeds the script's memory limit. Otherwise as `Client.startWebSocket`.
    init(
        _ engine: Engine, _ client: Client, _ request: Request, _ settings: WebSocketSettings, handlesOpen: Bool,
        preparesRequests: Bool
    ) throws(NightjarError) {
        self.engine = engine
        waits = EventWaits(engine)
        reservation = (engine.confinement?.memory).map { MemoryReservation($0) }
        guard reservation?.add(settings.maximumQueued + ClientTask.window) != false else {
            throw NightjarError(
                .tooLarge, "the WebSocket exceeds the script's memory limit; set a smaller max_queued")
        }
        var handlers = WebSocketSession.Handlers { [weak self] _, message in self?.received(message) }
        handlers.creditsAreManual = true
        handlers.writable = { [weak self] _ in self?.waits.notify() }
        if preparesRequests {
            handlers.prepare = { [weak self] _ in
                self?.wantsRequest = true
                self?.waits.notify()
            }
        }
        if handlesOpen {
            handlers.opened = { [weak self] _ in
                self?.hasOpened = true
                self?.waits.notify()
            }
            handlers.firstMessages = .untilCalled
        } else {
            handlers.opened = { [weak self] _ in self?.waits.notify() }
        }
        session = try client.startWebSocket(
            request, settings, on: engine.queue, handlers
        ) { [weak self] in self?.ended($0) }
    }

    func cancel() {
        wantsRequest = false
        session?.cancel()
    }

    func close() {
        cancel()
        _ = held.set(0, in: reservation)
        messages = []
    }

    // MARK: Events

    private func received(_ message: WebSocketMessage) {
        messages.append(message)
        let total = messages.reduce(0) { $0 + $1.payload.readableBytes }
        // The window is reserved already.
        if !held.set(max(total - ClientTask.window, 0), in: reservation) {
            session?.fail(
                NightjarError(.noMemory, "a WebSocket message exceeds the script's memory limit", phase: .receive))
        }
        waits.notify()
    }

    private func ended(_ result: Result<Void, NightjarError>) {
        end = result
        waits.notify()
    }

    // MARK: The script

    /// - Throws: `invalid_request` as `Client.startWebSocket`.
    func reconnect(_ request: Request) throws(NightjarError) {
        let request = try request.forWebSocket()
        wantsRequest = false
        session?.connect(with: request)
    }

    func takeOpen() { hasOpened = false }

    /// Ends the waits, so that another task makes the request, if no task has made it.
    func notifyOfRequest() {
        if wantsRequest { waits.notify() }
    }

    func next() -> Step {
        if let first = messages.first { return .message(first) }
        switch end {
        case nil: return engine.isForked ? .failed : .later
        case .success: return .end
        case .failure: return .failed
        }
    }

    func take() {
        guard let message = messages.popFirst() else { return }
        if messages.isEmpty { _ = held.set(0, in: reservation) }
        session?.consumed(message)
    }

    func ping(_ wait: OpaquePointer) throws(NightjarError) -> Future {
        try engine.checkProcess()
        let future = engine.pending(for: wait)
        future.abandon = { [weak engine, weak future] in
            if let future { engine?.drop(future) }
        }
        do throws(NightjarError) {
            try session?.ping { [engine] result in
                engine.queue.run { engine.complete(future, result.map { .one(.number($0.inSeconds)) }) }
            }
        } catch {
            engine.drop(future)
            throw error
        }
        return future
    }

    var error: NightjarError? {
        if engine.isForked {
            return NightjarError(.forked, "this WebSocket belongs to the parent process; open another one")
        }
        if case .failure(let error) = end { return error }
        return nil
    }
}

// MARK: For C

private func bytes(_ buffer: ByteBuffer) -> njl_bytes { buffer.withUnsafeReadableBytes(njl_bytes.init) }

private func text(_ text: String?) -> OpaquePointer? {
    text.map { Handle<BorrowedText>.make(BorrowedText($0)) }
}

@_cdecl("njl_websocket_open") @implementation
public func njl_websocket_open(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?, _ options: njl_bytes,
    _ handlesOpen: Bool, _ preparesRequests: Bool, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine) else { throw Engine.closedClient }
        let (client, requested) = try engine.request(request, of: client)
        let settings = try WebSocketSettings(json: options.buffer)
        return Handle<ScriptWebSocket>.make(
            try ScriptWebSocket(
                engine, client, requested, settings, handlesOpen: handlesOpen, preparesRequests: preparesRequests))
    }
}

@_cdecl("njl_websocket_wants_request") @implementation
public func njl_websocket_wants_request(_ socket: OpaquePointer?) -> Bool {
    guard let socket = Handle<ScriptWebSocket>.borrow(socket) else { return false }
    return socket.wantsRequest && socket.session?.currentState == .connecting
}

@_cdecl("njl_websocket_notify") @implementation
public func njl_websocket_notify(_ socket: OpaquePointer?) {
    Handle<ScriptWebSocket>.borrow(socket)?.notifyOfRequest()
}

@_cdecl("njl_websocket_reconnect") @implementation
public func njl_websocket_reconnect(
    _ socket: OpaquePointer?, _ engine: OpaquePointer?, _ client: OpaquePointer?,
    _ request: UnsafePointer<njl_request>?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    do throws(NightjarError) {
        guard let engine = Handle<Engine>.borrow(engine) else { throw Engine.closedClient }
        let (_, requested) = try engine.request(request, of: client)
        try Handle<ScriptWebSocket>.borrow(socket)?.reconnect(requested)
        return true
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return false
    }
}

@_cdecl("njl_websocket_release") @implementation
public func njl_websocket_release(_ socket: OpaquePointer?) {
    Handle<ScriptWebSocket>.borrow(socket)?.close()
    Handle<ScriptWebSocket>.release(socket)
}

@_cdecl("njl_websocket_cancel") @implementation
public func njl_websocket_cancel(_ socket: OpaquePointer?) {
    Handle<ScriptWebSocket>.borrow(socket)?.cancel()
}

@_cdecl("njl_websocket_await") @implementation
public func njl_websocket_await(_ socket: OpaquePointer?, _ wait: OpaquePointer?) -> OpaquePointer? {
    guard let socket = Handle<ScriptWebSocket>.borrow(socket), let wait else { return nil }
    return Handle<Future>.make(socket.waits.add(wait))
}

@_cdecl("njl_websocket_has_opened") @implementation
public func njl_websocket_has_opened(_ socket: OpaquePointer?) -> Bool {
    Handle<ScriptWebSocket>.borrow(socket)?.hasOpened ?? false
}

@_cdecl("njl_websocket_take_open") @implementation
public func njl_websocket_take_open(_ socket: OpaquePointer?) { Handle<ScriptWebSocket>.borrow(socket)?.takeOpen() }

@_cdecl("njl_websocket_handled_open") @implementation
public func njl_websocket_handled_open(_ socket: OpaquePointer?) {
    Handle<ScriptWebSocket>.borrow(socket)?.session?.sendKeptMessages()
}

@_cdecl("njl_websocket_next") @implementation
public func njl_websocket_next(
    _ socket: OpaquePointer?, _ message: UnsafeMutablePointer<njl_message>?
) -> njl_part {
    switch Handle<ScriptWebSocket>.borrow(socket)?.next() {
    case .message(let next):
        // The pointer stays valid because the socket keeps the message until it is taken.
        message?.pointee = njl_message(
            is_text: next.kind == .text, is_first: next.startsMessage, is_last: next.endsMessage,
            bytes: bytes(next.payload))
        return NJL_PART_READY
    case .later: return NJL_PART_LATER
    case .end, nil: return NJL_PART_END
    case .failed: return NJL_PART_FAILED
    }
}

@_cdecl("njl_websocket_take") @implementation
public func njl_websocket_take(_ socket: OpaquePointer?) { Handle<ScriptWebSocket>.borrow(socket)?.take() }

@_cdecl("njl_websocket_send") @implementation
public func njl_websocket_send(
    _ socket: OpaquePointer?, _ isText: Bool, _ bytes: njl_bytes, _ isFirst: Bool,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> njl_sent {
    do throws(NightjarError) {
        let payload = try ByteBuffer(copying: bytes.buffer, for: "a WebSocket message")
        let isSent = try Handle<ScriptWebSocket>.borrow(socket)?.session?.send(
            WebSocketMessage(isText ? .text : .binary, payload), isFirst: isFirst)
        return isSent == true ? NJL_SENT : NJL_SEND_LATER
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return NJL_SEND_FAILED
    }
}

@_cdecl("njl_websocket_ping") @implementation
public func njl_websocket_ping(
    _ socket: OpaquePointer?, _ wait: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let socket = Handle<ScriptWebSocket>.borrow(socket), let wait else {
            throw NightjarError(.closed, "the WebSocket is closed; open another one")
        }
        return Handle<Future>.make(try socket.ping(wait))
    }
}

@_cdecl("njl_websocket_close") @implementation
public func njl_websocket_close(
    _ socket: OpaquePointer?, _ code: Int32, _ reason: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    do throws(NightjarError) {
        try Handle<ScriptWebSocket>.borrow(socket)?.session?.close(
            code: code == 0 ? nil : WebSocketCloseCode(clamping: Int(code)), reason: try reason.text("the reason"))
        return true
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return false
    }
}

@_cdecl("njl_websocket_is_connected") @implementation
public func njl_websocket_is_connected(_ socket: OpaquePointer?) -> Bool {
    guard let socket = Handle<ScriptWebSocket>.borrow(socket), let session = socket.session else { return false }
    return session.currentState == .open || socket.end != nil && session.wasEndedByServer
}

@_cdecl("njl_websocket_is_ended") @implementation
public func njl_websocket_is_ended(_ socket: OpaquePointer?) -> Bool {
    Handle<ScriptWebSocket>.borrow(socket).map { $0.end != nil || $0.error != nil } ?? true
}

@_cdecl("njl_websocket_error") @implementation
public func njl_websocket_error(_ socket: OpaquePointer?) -> OpaquePointer? {
    (Handle<ScriptWebSocket>.borrow(socket)?.error).map { Handle<Future>.make(Future(.failure($0))) }
}

@_cdecl("njl_websocket_state_name") @implementation
public func njl_websocket_state_name(_ socket: OpaquePointer?) -> UnsafePointer<CChar>? {
    let name: StaticString =
        switch Handle<ScriptWebSocket>.borrow(socket)?.session?.currentState {
        case .connecting: "connecting"
        case .open: "open"
        case .waiting: "waiting"
        case .closing: "closing"
        case .closed, nil: "closed"
        }
    return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("njl_websocket_close_code") @implementation
public func njl_websocket_close_code(_ socket: OpaquePointer?) -> Int32 {
    (Handle<ScriptWebSocket>.borrow(socket)?.session?.closure).map { Int32($0.code.rawValue) } ?? 0
}

@_cdecl("njl_websocket_close_reason") @implementation
public func njl_websocket_close_reason(_ socket: OpaquePointer?) -> OpaquePointer? {
    text(Handle<ScriptWebSocket>.borrow(socket)?.session?.closure?.reason)
}

@_cdecl("njl_websocket_response") @implementation
public func njl_websocket_response(_ socket: OpaquePointer?) -> OpaquePointer? {
    (Handle<ScriptWebSocket>.borrow(socket)?.session?.response).map { Handle.make(Future(.success($0))) }
}

@_cdecl("njl_websocket_subprotocol") @implementation
public func njl_websocket_subprotocol(_ socket: OpaquePointer?) -> OpaquePointer? {
    text(Handle<ScriptWebSocket>.borrow(socket)?.session?.subprotocol)
}

@_cdecl("njl_websocket_explanation") @implementation
public func njl_websocket_explanation(_ socket: OpaquePointer?) -> OpaquePointer? {
    text(Handle<ScriptWebSocket>.borrow(socket)?.session?.explanation)
}
