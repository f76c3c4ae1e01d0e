import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// An event as C strings.
final class EventBox: Sendable {
    let type: CString
    let id: CString
    let data: CString
    let length: Int

    init(_ event: ServerEvent) {
        type = CString(event.type)
        id = CString(event.rawID)
        data = CString(event.bytes)
        length = event.bytes.readableBytes
    }
}

/// Reads an event stream on the thread of the caller. For one thread at a time.
final class EventsBox {
    private let client: Client
    private let request: Request
    private let settings: EventStreamSettings
    private let queue = CompletionQueue()
    private let received = Received()
    private var operation: EventsOperation?
    private var current: EventBox?
    private var savedID: CString
    /// The id that ``savedID`` contains.
    private var lastID: ByteBuffer
    private var explanation: CString?
    /// Whether ``next(within:)`` is running. Callbacks of the client can run meanwhile.
    private var isReading = false

    /// The events and the end that the queue has delivered. Used only while this thread polls the queue.
    private final class Received: @unchecked Sendable {
        var events: [ServerEvent] = []
        var first = 0
        var end: Result<Void, NightjarError>?
    }

    init(_ client: Client, _ request: Request, _ settings: EventStreamSettings) {
        self.client = client
        self.request = request
        self.settings = settings
        lastID = ByteBuffer(string: settings.lastEventID)
        savedID = CString(lastID)
    }

    deinit { queue.close() }

    /// Returns the next event; nil at the end of the stream.
    ///
    /// - Parameter timeout: Nil: waits without limit.
    /// - Throws: the failure of the stream; `timeout` if no event arrived in time (the stream then continues);
    ///   `reentrant` inside a callback that this method runs; `forked`.
    func next(within timeout: Duration?) throws(NightjarError) -> EventBox? {
        try client.checkProcess()
        guard !isReading else {
            throw NightjarError(
                .reentrant, "nj_events_next must not be called from a callback that nj_events_next runs for this stream"
            )
        }
        isReading = true
        defer { isReading = false }
        try begin()
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while received.first == received.events.count {
            if let end = received.end {
                try end.get()
                return nil
            }
            (received.events, received.first) = ([], 0)
            let rest = deadline.map { max(ContinuousClock.now.duration(to: $0), .zero) }
            let count = queue.poll(timeout: rest)
            try client.checkProcess()
            guard count > 0 || rest != .zero || received.end != nil else {
                throw NightjarError(.timeout, "no event arrived in time; the stream is still open", phase: .receive)
            }
        }
        let event = received.events[received.first]
        received.first += 1
        let box = EventBox(event)
        (current, savedID, lastID) = (box, box.id, event.rawID)
        return box
    }

    private func begin() throws(NightjarError) {
        guard operation == nil else { return }
        operation = try client.startEvents(request, settings, on: queue) { [received] event in
            received.events.append(event)
        } finished: { [received] result in
            received.end = result
        }
    }

    // After a fork, the getters of the child return their values for "none".
    var lastEventID: CString? {
        guard !client.isOfParent else { return nil }
        // The server may have sent an id without data after the last event.
        if received.first == received.events.count, let id = operation?.lastEventID, id != lastID {
            (savedID, lastID) = (CString(id), id)
        }
        return savedID
    }

    var response: Response? { client.isOfParent ? nil : operation?.response }

    var reconnectionTime: Duration {
        (client.isOfParent ? nil : operation?.reconnectionTime) ?? settings.reconnectionTime
    }

    var state: EventStreamState { client.isOfParent ? .closed : operation?.state ?? .connecting }

    func explain() -> CString? {
        guard !client.isOfParent else { return nil }
        let text = CString(operation?.explanation ?? "nothing was sent")
        explanation = text
        return text
    }
}

extension nj_events_state {
    init(_ state: EventStreamState) {
        self =
            switch state {
            case .connecting: NJ_EVENTS_CONNECTING
            case .open: NJ_EVENTS_OPEN
            case .waiting: NJ_EVENTS_WAITING
            case .closed: NJ_EVENTS_CLOSED
            }
    }
}

private func settings(
    _ json: UnsafePointer<CChar>?, _ length: Int
) throws(NightjarError) -> EventStreamSettings {
    json == nil ? EventStreamSettings() : try EventStreamSettings(json: try document(json, length))
}

@_cdecl("nj_events_new") @implementation
public func nj_events_new(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        return Handle.make(EventsBox(client, request, try settings(options, length)))
    }
}

@_cdecl("nj_events_free") @implementation
public func nj_events_free(_ events: OpaquePointer?) { _ = Handle<EventsBox>.take(events) }

@_cdecl("nj_events_next") @implementation
public func nj_events_next(
    _ events: OpaquePointer?, _ seconds: Double, _ outEvent: UnsafeMutablePointer<OpaquePointer?>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    outEvent?.pointee = nil
    return setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<EventsBox>.borrow(events), "events")
        let event = try box.next(within: try limit(seconds))
        outEvent?.pointee = event.map { Handle.lend($0) }
    }
}

@_cdecl("nj_events_last_event_id") @implementation
public func nj_events_last_event_id(_ events: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<EventsBox>.borrow(events)?.lastEventID?.pointer
}

@_cdecl("nj_events_response") @implementation
public func nj_events_response(_ events: OpaquePointer?) -> OpaquePointer? {
    (Handle<EventsBox>.borrow(events)?.response).map { Handle.make(ResponseBox($0)) }
}

@_cdecl("nj_events_reconnection_time") @implementation
public func nj_events_reconnection_time(_ events: OpaquePointer?) -> Double {
    Handle<EventsBox>.borrow(events)?.reconnectionTime.inSeconds ?? 0
}

@_cdecl("nj_events_get_state") @implementation
public func nj_events_get_state(_ events: OpaquePointer?) -> nj_events_state {
    nj_events_state(Handle<EventsBox>.borrow(events)?.state ?? .closed)
}

@_cdecl("nj_events_explain") @implementation
public func nj_events_explain(_ events: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<EventsBox>.borrow(events)?.explain()?.pointer
}

@_cdecl("nj_event_type") @implementation
public func nj_event_type(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<EventBox>.borrow(event)?.type.pointer
}

@_cdecl("nj_event_id") @implementation
public func nj_event_id(_ event: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<EventBox>.borrow(event)?.id.pointer
}

@_cdecl("nj_event_data") @implementation
public func nj_event_data(
    _ event: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    let box = Handle<EventBox>.borrow(event)
    outLength?.pointee = box?.length ?? 0
    return box?.data.pointer
}

@_cdecl("nj_client_start_events") @implementation
public func nj_client_start_events(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ options: UnsafePointer<CChar>?, _ length: Int,
    _ queue: OpaquePointer?, _ callback: nj_event_fn?, _ done: nj_events_done_fn?,
    _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request").request(for: client)
        let queue = try requiredQueue(queue)
        let context = CallbackContext(pointer: context)
        let callback = try required(callback, "event")
        let done = try required(done, "done")
        let task: ClientWork = try client.startEvents(request, try settings(options, length), on: queue) { event in
            let box = EventBox(event)
            withExtendedLifetime(box) { callback(context.pointer, Handle.lend(box)) }
        } finished: {
            report($0, to: done, context)
        }
        return Handle.make(task)
    }
}
