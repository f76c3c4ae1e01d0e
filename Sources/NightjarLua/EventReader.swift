import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// An event stream whose calls a script makes. Belongs to the thread that runs the Lua state.
final class EventReader: @unchecked Sendable {
    enum Step { case event(ServerEvent), later, changed }

    private(set) var stream: EventStream
    /// The next action of the script. Nil: it reads the response.
    private(set) var action: EventStream.Action? = .connect
    /// The event that is returned until it is taken.
    private var current: ServerEvent?
    /// The last id before the event that was not taken.
    private var previousID = ByteBuffer()
    private(set) var history = StreamHistory(EventStreamState.connecting)
    /// The response of the last connection.
    private(set) var response: Future?
    /// The body of the open response.
    private var body: BodyReader?
    /// The call of the connection in progress.
    private weak var connecting: Future?
    private let start = ContinuousClock.now
    private var random = SystemRandomNumberGenerator()

    init(_ settings: EventStreamSettings) { stream = EventStream(settings) }

    /// The last id that the script has received, with an event or after it. Valid until the next event.
    func lastEventID() -> ByteBuffer {
        if current == nil { previousID = stream.rawLastEventID }
        return previousID
    }

    /// The open response. Nil if there is none.
    var future: Future? { body?.future }

    // MARK: Connecting

    /// Returns the request of the next connection.
    func prepare(_ request: Request) throws(NightjarError) -> Request { try stream.prepare(request, using: &random) }

    func started(_ future: Future) { connecting = future }

    func opened(_ future: Future) {
        guard let response = future.response else { return }
        self.response = Future(.success(response), of: future)
        body = BodyReader(future)
        let action = stream.opened(response)
        if case .fail(let error) = action { return fail(error) }
        if action != nil { leave() }
        perform(action)
    }

    func failed(_ error: NightjarError) { perform(stream.ended(error, using: &random)) }

    func waited() { perform(stream.waited()) }

    func close() {
        stream.close()
        connecting?.task?.cancel()
        leave()
        perform(.end)
    }

    private func perform(_ action: EventStream.Action?) {
        self.action = action
        history.note(stream.state, stream.reason, at: start.duration(to: .now))
    }

    // MARK: Reading

    func next() -> Step {
        if let current { return .event(current) }
        previousID = stream.rawLastEventID
        guard let body else { return .changed }
        while true {
            do throws(NightjarError) {
                if let event = try stream.next() {
                    current = event
                    return .event(event)
                }
            } catch {
                fail(error)
                return .changed
            }
            switch body.next(holding: stream.heldBytes, for: "an event of the stream") {
            case .bytes(let part): stream.append(part)
            case .later: return .later
            case .end:
                ended(nil)
                return .changed
            case .failed(let error):
                error.kind == .noMemory ? fail(error) : ended(error)
                return .changed
            }
        }
    }

    func take() { current = nil }

    private func ended(_ error: NightjarError?) {
        leave()
        // The task that waited for an event was cancelled, and the call with it. The stream itself is still open.
        let wasAbandoned = error?.kind == .cancelled
        perform(stream.ended(wasAbandoned ? EventReader.abandoned : error, using: &random))
    }

    private func fail(_ error: NightjarError) {
        let failed = error.url == nil ? future?.response.map(error.about) ?? error : error
        leave()
        stream.close()
        perform(.fail(failed))
    }

    /// Closes and releases the response.
    private func leave() {
        body?.cancel()
        body = nil
    }

    private static let abandoned = NightjarError(
        .connectionLost, "the task that waited for an event was cancelled", phase: .receive,
        requestMayHaveBeenProcessed: true)
}

// MARK: For C

private func bytes(_ buffer: ByteBuffer) -> njl_bytes { buffer.withUnsafeReadableBytes(njl_bytes.init) }

@_cdecl("njl_events_new") @implementation
public func njl_events_new(
    _ options: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        Handle<EventReader>.make(EventReader(try EventStreamSettings(json: options.buffer)))
    }
}

@_cdecl("njl_events_release") @implementation
public func njl_events_release(_ events: OpaquePointer?) { Handle<EventReader>.release(events) }

@_cdecl("njl_events_step_of") @implementation
public func njl_events_step_of(
    _ events: OpaquePointer?, _ seconds: UnsafeMutablePointer<Double>?
) -> njl_events_step {
    guard let events = Handle<EventReader>.borrow(events) else { return NJL_EVENTS_END }
    switch events.action {
    case nil: return NJL_EVENTS_READ
    case .connect: return NJL_EVENTS_CONNECT
    case .wait(let time):
        seconds?.pointee = time.inSeconds
        return NJL_EVENTS_WAIT
    case .end: return NJL_EVENTS_END
    case .fail: return NJL_EVENTS_FAILED
    }
}

@_cdecl("njl_events_opened") @implementation
public func njl_events_opened(_ events: OpaquePointer?, _ response: OpaquePointer?) {
    guard let events = Handle<EventReader>.borrow(events), let future = Handle<Future>.borrow(response) else { return }
    events.opened(future)
}

@_cdecl("njl_events_failed") @implementation
public func njl_events_failed(_ events: OpaquePointer?, _ error: OpaquePointer?) {
    guard let events = Handle<EventReader>.borrow(events), let error = Handle<Future>.borrow(error)?.error else {
        return
    }
    events.failed(error)
}

@_cdecl("njl_events_waited") @implementation
public func njl_events_waited(_ events: OpaquePointer?) { Handle<EventReader>.borrow(events)?.waited() }

@_cdecl("njl_events_close") @implementation
public func njl_events_close(_ events: OpaquePointer?) { Handle<EventReader>.borrow(events)?.close() }

@_cdecl("njl_events_next") @implementation
public func njl_events_next(
    _ events: OpaquePointer?, _ wait: OpaquePointer?, _ event: UnsafeMutablePointer<njl_event>?
) -> njl_part {
    guard let events = Handle<EventReader>.borrow(events) else { return NJL_PART_END }
    switch events.next() {
    case .event(let next):
        // The reader keeps the bytes in place until the event is taken.
        event?.pointee = njl_event(type: bytes(next.rawType), id: bytes(next.rawID), data: bytes(next.bytes))
        return NJL_PART_READY
    case .later:
        guard let future = events.future, future.wait == nil || future.wait == wait else { return NJL_PART_BUSY }
        future.wait = wait
        return NJL_PART_LATER
    case .changed: return NJL_PART_END
    }
}

@_cdecl("njl_events_take") @implementation
public func njl_events_take(_ events: OpaquePointer?) { Handle<EventReader>.borrow(events)?.take() }

@_cdecl("njl_events_error") @implementation
public func njl_events_error(_ events: OpaquePointer?) -> OpaquePointer? {
    guard case .fail(let error) = Handle<EventReader>.borrow(events)?.action else { return nil }
    return Handle<Future>.make(Future(.failure(error)))
}

@_cdecl("njl_events_response") @implementation
public func njl_events_response(_ events: OpaquePointer?) -> OpaquePointer? {
    (Handle<EventReader>.borrow(events)?.response).map(Handle.make)
}

@_cdecl("njl_events_last_id") @implementation
public func njl_events_last_id(_ events: OpaquePointer?) -> njl_bytes {
    // The reader keeps the bytes in place.
    Handle<EventReader>.borrow(events).map { bytes($0.lastEventID()) } ?? njl_bytes()
}

@_cdecl("njl_events_reconnection_time") @implementation
public func njl_events_reconnection_time(_ events: OpaquePointer?) -> Double {
    Handle<EventReader>.borrow(events)?.stream.currentReconnectionTime.inSeconds ?? 0
}

@_cdecl("njl_events_state_name") @implementation
public func njl_events_state_name(_ events: OpaquePointer?) -> UnsafePointer<CChar>? {
    let name: StaticString =
        switch Handle<EventReader>.borrow(events)?.stream.state {
        case .connecting: "connecting"
        case .open: "open"
        case .waiting: "waiting"
        case .closed, nil: "closed"
        }
    return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("njl_events_explanation") @implementation
public func njl_events_explanation(_ events: OpaquePointer?) -> OpaquePointer? {
    Handle<EventReader>.borrow(events).map { Handle<BorrowedText>.make(BorrowedText($0.history.explanation)) }
}
