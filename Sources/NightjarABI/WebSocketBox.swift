import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarSystem
import Synchronization

/// A message, or a piece of one, whose content ends with NUL.
final class MessageBox: Sendable {
    let kind: nj_message_kind
    let length: Int
    let isFirst: Bool
    let isLast: Bool
    private let bytes: ByteBuffer

    /// - Throws: `no_memory`.
    init(_ message: WebSocketMessage) throws(NightjarError) {
        kind = message.kind == .text ? NJ_MESSAGE_TEXT : NJ_MESSAGE_BINARY
        length = message.payload.readableBytes
        isFirst = message.startsMessage
        isLast = message.endsMessage
        var bytes = message.payload
        try bytes.reserve(1, for: "a WebSocket message")
        bytes.writeInteger(0 as UInt8)
        self.bytes = bytes
    }

    /// Valid as long as this object.
    var data: UnsafePointer<CChar>? {
        bytes.withUnsafeReadableBytes { $0.bindMemory(to: CChar.self).baseAddress }
    }
}

/// A WebSocket of a C program: with callbacks, or read by blocking functions.
final class WebSocketBox: @unchecked Sendable {
    /// Set once, before the program has the handle, or before the first callback.
    private(set) var session: WebSocketSession?
    private let client: Client
    /// The thread that runs the callback for a new connection; 0: none.
    private let opener = Atomic<UInt>(0)
    /// Nil for a WebSocket with callbacks.
    private let reading: Reading?

    /// The state of the blocking functions. Used by one thread at a time.
    private final class Reading: @unchecked Sendable {
        let queue = CompletionQueue()
        var messages: [WebSocketMessage] = []
        var first = 0
        var end: Result<Void, NightjarError>?
        var current: MessageBox?
        /// Whether a blocking function is running. Callbacks of the client can run meanwhile.
        var isActive = false

        func next() -> WebSocketMessage? {
            guard first < messages.count else {
                (messages, first) = ([], 0)
                return nil
            }
            defer { first += 1 }
            return messages[first]
        }
    }

    /// Opens a WebSocket for blocking functions.
    init(_ client: Client, _ request: Request, _ settings: WebSocketSettings) throws(NightjarError) {
        self.client = client
        let reading = Reading()
        self.reading = reading
        var handlers = WebSocketSession.Handlers { _, message in reading.messages.append(message) }
        handlers.creditsAreManual = true
        session = try client.startWebSocket(request, settings, on: reading.queue, handlers) { reading.end = $0 }
    }

    /// Opens a WebSocket with callbacks, which retain this object until the last one has returned.
    init(
        _ client: Client, _ request: Request, _ settings: WebSocketSettings, on queue: CompletionQueue,
        _ callbacks: WebSocketCallbacks
    ) throws(NightjarError) {
        self.client = client
        reading = nil
        let holder = Holder(self)
        _ = try client.startWebSocket(
            request, settings, on: queue, callbacks.handlers(holder), prepared: { session = $0 }
        ) { callbacks.done(holder, $0) }
    }

    /// Retains the WebSocket of the callbacks until the last one has returned. Used on the queue.
    final class Holder: @unchecked Sendable {
        var box: WebSocketBox?

        init(_ box: WebSocketBox) { self.box = box }
    }

    deinit {
        guard let reading else { return }
        session?.cancel()
        reading.queue.close()
    }

    var isOfParent: Bool { client.isOfParent }

    /// Runs the callback for a new connection. The messages that it sends are the first ones of the connection.
    func runOpened(_ body: () -> Void) {
        opener.store(pthread_self(), ordering: .relaxed)
        body()
        opener.store(0, ordering: .relaxed)
    }

    /// Whether this thread runs the callback for a new connection.
    var isOpening: Bool { opener.load(ordering: .relaxed) == pthread_self() }

    /// - Throws: `forked`.
    func open() throws(NightjarError) -> WebSocketSession {
        try client.checkProcess()
        guard let session else { throw NightjarError(.closed, "the WebSocket is closed") }
        return session
    }

    // MARK: Blocking functions

    /// Returns also if the server has ended the connection since. ``receive(within:)`` then reports the end, after the
    /// messages.
    ///
    /// - Throws: the failure of the WebSocket; `closed` after its end; `timeout`.
    func waitUntilOpen(within timeout: Duration?) throws(NightjarError) {
        let session = try open()
        try read(within: timeout, "the WebSocket is not open yet; the client still tries to open it") { reading in
            session.currentState == .open || reading.end != nil ? () : nil
        }
        if let end = try reader().end, !session.wasEndedByServer {
            try end.get()
            throw NightjarError(.closed, "the WebSocket is closed; open another one")
        }
    }

    /// Returns the next message; nil at the end.
    func receive(within timeout: Duration?) throws(NightjarError) -> MessageBox? {
        let reading = try reader()
        let session = try open()
        let message = try read(within: timeout, "no message arrived in time; the WebSocket is still open") {
            reading -> WebSocketMessage?? in
            guard let message = reading.next() else { return reading.end == nil ? nil : .some(nil) }
            return message
        }
        guard let message else {
            try reading.end?.get()
            return nil
        }
        session.consumed(message)
        do throws(NightjarError) {
            let box = try MessageBox(message)
            reading.current = box
            return box
        } catch {
            session.fail(error)
            throw error
        }
    }

    /// - Throws: the errors of blocking functions that do not depend on the connection.
    func checkMayBlock() throws(NightjarError) {
        try client.checkProcess()
        guard try !reader().isActive else {
            throw NightjarError(
                .reentrant, "a blocking function must not be called from a callback that it runs for this WebSocket")
        }
    }

    /// Waits until the closing handshake has ended.
    func waitUntilClosed(within timeout: Duration?) throws(NightjarError) {
        try read(within: timeout, "the WebSocket is not closed yet; the client still waits for the server") {
            $0.end == nil ? nil : ()
        }
    }

    private func reader() throws(NightjarError) -> Reading {
        guard let reading else {
            throw NightjarError(
                .invalidArgument, "this WebSocket has callbacks; use the functions that do not block the thread")
        }
        return reading
    }

    /// Runs the callbacks of the client on this thread until `result` returns a value.
    private func read<Value>(
        within timeout: Duration?, _ late: String, _ result: (Reading) -> Value?
    ) throws(NightjarError) -> Value {
        try checkMayBlock()
        let reading = try reader()
        reading.isActive = true
        defer { reading.isActive = false }
        let deadline = timeout.map { ContinuousClock.now + $0 }
        while true {
            if let value = result(reading) { return value }
            let rest = deadline.map { max(ContinuousClock.now.duration(to: $0), .zero) }
            let count = reading.queue.poll(timeout: rest)
            try client.checkProcess()
            if count == 0, rest == .zero {
                if let value = result(reading) { return value }
                throw NightjarError(.timeout, late, phase: .receive)
            }
        }
    }
}

/// The callbacks of a WebSocket.
struct WebSocketCallbacks: @unchecked Sendable {
    private let functions: nj_websocket_callbacks
    private let context: CallbackContext

    /// - Throws: `invalid_argument` if a required callback is missing, or if the size is wrong.
    init(
        _ callbacks: UnsafePointer<nj_websocket_callbacks>?, _ context: UnsafeMutableRawPointer?
    ) throws(NightjarError) {
        let callbacks = try required(callbacks, "callbacks")
        // A structure of another size may end before the last callback, so it is not read as a whole yet.
        let size = UnsafeRawPointer(callbacks).load(as: Int.self)
        guard size == MemoryLayout<nj_websocket_callbacks>.size else {
            throw NightjarError(
                .invalidArgument,
                "callbacks.size must be sizeof(nj_websocket_callbacks), \(MemoryLayout<nj_websocket_callbacks>.size), "
                    + "got \(size)")
        }
        functions = callbacks.pointee
        self.context = CallbackContext(pointer: context)
        _ = try required(functions.message, "callbacks.message")
        _ = try required(functions.done, "callbacks.done")
    }

    func handlers(_ holder: WebSocketBox.Holder) -> WebSocketSession.Handlers {
        var handlers = WebSocketSession.Handlers { [self] session, message in
            do throws(NightjarError) {
                let message = try MessageBox(message)
                guard let box = holder.box else { return }
                withExtendedLifetime((message, box)) {
                    functions.message?(context.pointer, Handle.lend(box), Handle.lend(message))
                }
            } catch {
                session.fail(error)
            }
        }
        if let open = functions.open {
            handlers.opened = { [self] _ in holder.box?.runOpened { call(open, holder) } }
            handlers.firstMessages = .ofCallback
        }
        if let writable = functions.writable {
            handlers.writable = { [self] _ in call(writable, holder) }
        }
        return handlers
    }

    private func call(
        _ function: (UnsafeMutableRawPointer?, OpaquePointer?) -> Void, _ holder: WebSocketBox.Holder
    ) {
        guard let box = holder.box else { return }
        withExtendedLifetime(box) { function(context.pointer, Handle.lend(box)) }
    }

    func done(_ holder: WebSocketBox.Holder, _ result: Result<Void, NightjarError>) {
        guard let box = holder.box.take() else { return }
        defer { withExtendedLifetime(box) {} }
        switch result {
        case .success: functions.done?(context.pointer, Handle.lend(box), nil)
        case .failure(let error):
            let error = ErrorBox(error)
            withExtendedLifetime(error) { functions.done?(context.pointer, Handle.lend(box), Handle.lend(error)) }
        }
    }
}
