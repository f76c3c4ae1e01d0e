import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// An event stream whose calls a script makes. Belongs to the thread that runs the Lua state.
final class EventReader: @unchecked Sendable {
    private(set) var stream: EventStream
    let settings: EventStreamSettings
    private(set) var action: EventStream.Action?
    /// The open response.
    private(set) var future: Future?
    /// The event that is returned until it is taken.
    private(set) var current: ServerEvent?
    private(set) var lastEventID: ByteBuffer
    private(set) var history = StreamHistory()
    /// The value of Last-Event-ID that C borrows.
    private(set) var cursor = ByteBuffer()
    private let start = ContinuousClock.now
    private var random = SystemRandomNumberGenerator()
    /// The length of the part that is being decoded. Its bytes count as consumed when the next part is needed.
    private var partLength = 0
    /// The memory of an incomplete event.
    private var held = HeldBytes()

    init(_ stream: EventStream, _ settings: EventStreamSettings) {
        self.stream = stream
        self.settings = settings
        lastEventID = ByteBuffer(string: settings.lastEventID)
        perform(stream.begin())
    }

    private func perform(_ action: EventStream.Action?) {
        self.action = action
        if case .connect(let id) = action { cursor = ByteBuffer(string: id ?? "") }
        history.note(stream, at: start.duration(to: .now))
    }

    func opened(_ future: Future) {
        guard let response = future.response else { return }
        let action = stream.opened(response.head)
        if action == nil { self.future = future } else { future.task?.cancel() }
        perform(action)
    }

    func failed(_ error: NightjarError) { perform(stream.ended(error, using: &random)) }

    func waited() { perform(stream.waited()) }

    func close() {
        stream.close()
        release()
        future?.task?.cancel()
        leave()
        perform(.end)
    }

    enum Step { case event(ServerEvent), later, changed }

    func next() -> Step {
        if let current { return .event(current) }
        guard let future, let incoming = future.incoming else {
            if case nil = action { perform(stream.ended(nil, using: &random)) }
            return .changed
        }
        while true {
            do throws(NightjarError) {
                if let event = try stream.next() {
                    current = event
                    return .event(event)
                }
            } catch {
                return failed(error, future)
            }
            guard held.set(stream.heldBytes, in: future.reservation) else {
                let message = "an event of the stream exceeds the script's memory limit"
                return failed(NightjarError(.noMemory, message), future)
            }
            release()
            switch incoming.next {
            case .bytes(let part):
                partLength = incoming.take()
                stream.append(part)
            case .later: return .later
            case .end: return ended(nil)
            case .failed(let error): return ended(error)
            }
        }
    }

    func take() {
        if let current { lastEventID = current.rawID }
        current = nil
    }

    private func failed(_ error: NightjarError, _ future: Future) -> Step {
        future.task?.cancel()
        leave()
        stream.close()
        perform(.fail(error))
        return .changed
    }

    /// Releases the response.
    private func leave() {
        _ = held.set(0, in: future?.reservation)
        future = nil
    }

    private func ended(_ error: NightjarError?) -> Step {
        leave()
        perform(stream.ended(error, using: &random))
        return .changed
    }

    private func release() {
        future?.task?.consumed(partLength)
        partLength = 0
    }
}

// MARK: For C

private func bytes(_ buffer: ByteBuffer) -> njl_bytes { buffer.withUnsafeReadableBytes(njl_bytes.init) }

@_cdecl("njl_events_new") @implementation
public func njl_events_new(
    _ options: njl_bytes, _ method: njl_bytes, _ hasIdempotencyKey: Bool, _ isReplayable: Bool,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        let settings =
            options.data == nil ? EventStreamSettings() : try EventStreamSettings(json: options.buffer)
        guard let method = Method(try method.text("the method")) else {
            throw NightjarError(.invalidRequest, "the method is invalid")
        }
        var request = Request(method, "")
        request.isIdempotent = hasIdempotencyKey
        if !isReplayable { request.body = .stream(length: nil) }
        return Handle<EventReader>.make(EventReader(try request.eventStream(settings), settings))
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

@_cdecl("njl_events_cursor") @implementation
public func njl_events_cursor(_ events: OpaquePointer?) -> njl_bytes {
    guard let events = Handle<EventReader>.borrow(events), events.cursor.readableBytes > 0 else { return njl_bytes() }
    return bytes(events.cursor)
}

@_cdecl("njl_events_idle_timeout") @implementation
public func njl_events_idle_timeout(_ events: OpaquePointer?) -> Double {
    Handle<EventReader>.borrow(events)?.settings.idleTimeout.inSeconds ?? 0
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

@_cdecl("njl_events_last_id") @implementation
public func njl_events_last_id(_ events: OpaquePointer?) -> njl_bytes {
    Handle<EventReader>.borrow(events).map { bytes($0.lastEventID) } ?? njl_bytes()
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
