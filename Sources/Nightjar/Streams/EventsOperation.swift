import NIOCore
import NightjarHTTP
import Synchronization

/// Reads an event stream and passes each event to a callback.
///
/// The callbacks of the calls, and therefore the state machine, run on the operation's queue. Only waits run on the loop.
package final class EventsOperation: ClientOperation, @unchecked Sendable {
    /// Receives an event. Does not run after a cancel.
    package typealias Handler = @Sendable (ServerEvent) -> Void

    private let client: Client
    private let request: Request
    private let handler: Handler
    /// The call of the connection. Nil if there is none: the callbacks of a call retain this object.
    private let call = Mutex<ClientTask?>(nil)
    private let isPaused = Atomic<Bool>(false)
    private let snapshot = Mutex(StreamHistory(EventStreamState.connecting))
    private let start = ContinuousClock.now

    // Used on the queue:
    private var stream: EventStream
    /// The action that follows the end of a call that this object has cancelled.
    private var next: EventStream.Action?
    private var random = SystemRandomNumberGenerator()

    /// - Parameter finished: Called once. Success means that the server has no more events.
    init(
        _ client: Client, _ request: Request, _ settings: EventStreamSettings, on queue: CompletionQueue,
        event handler: @escaping Handler, finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) {
        self.client = client
        self.request = request
        self.handler = handler
        stream = EventStream(settings)
        super.init("the event stream", on: client.loop, queue: queue, timeout: nil, finished: finished)
    }

    package var state: EventStreamState { snapshot.withLock { $0.state } }
    package var explanation: String { snapshot.withLock { $0.explanation } }

    /// The last id that the server has sent. On the queue, where it belongs to the events that were passed to the handler.
    package var lastEventID: ByteBuffer { stream.rawLastEventID }
    /// The wait before the next connection while no connection fails. On the queue.
    package var reconnectionTime: Duration { stream.currentReconnectionTime }

    /// The response of the last connection. On the queue.
    package private(set) var response: Response?

    package override func pause() {
        isPaused.store(true, ordering: .sequentiallyConsistent)
        call.withLock { $0 }?.pause()
    }

    package override func resume() {
        isPaused.store(false, ordering: .sequentiallyConsistent)
        call.withLock { $0 }?.resume()
    }

    // MARK: On the loop

    override func begin() { post { $0.perform(.connect) } }

    override var canceller: Request.Canceller? { request.canceller }

    // The call may have ended, and the next one may not have started.
    override func clientDrains() {
        end(.failure(NightjarError(.closed, "the event stream ended because the client is draining")))
    }

    override func released() { call.withLock { $0 }?.cancel() }

    private func post(_ body: @escaping @Sendable (EventsOperation) -> Void) {
        loop.post(.run { [self] in if !isCancelled { body(self) } }, to: queue)
    }

    // MARK: On the queue

    private func perform(_ action: EventStream.Action) {
        note()
        switch action {
        case .connect:
            do throws(NightjarError) { try connect() } catch { finish(.failure(error)) }
        case .wait(let time): loop.submit(.run { [self] in wait(time) })
        case .end: finish(.success(()))
        case .fail(let error): finish(.failure(error))
        }
    }

    /// Runs on the loop.
    private func wait(_ time: Duration) {
        loop.after(time) { [weak self] in
            guard let self, !hasEnded else { return }
            post { $0.perform($0.stream.waited()) }
        }
    }

    private func finish(_ result: Result<Void, NightjarError>) {
        stream.close()
        note()
        loop.submit(.run { [self] in end(result) })
    }

    private func note() {
        let (stream, time) = (stream, start.duration(to: .now))
        snapshot.withLock { $0.note(stream.state, stream.reason, at: time) }
    }

    private func connect() throws(NightjarError) {
        next = nil
        var handlers = TaskHandlers { [self] _, result in ended(result) }
        handlers.head = { [self] task, response in
            self.response = response
            next = stream.opened(response)
            note()
            if next != nil { task.cancel() }
        }
        handlers.body = { [self] task, part in received(part, task) }
        let task = try client.start(try stream.prepare(request, using: &random), on: queue, handlers)
        // The end of the call, which removes it, is an event of this queue.
        call.withLock { $0 = task }
        // The operation may have been cancelled, paused or resumed meanwhile.
        if isCancelled { task.cancel() }
        if isPaused.load(ordering: .sequentiallyConsistent) { task.pause() }
        if !isPaused.load(ordering: .sequentiallyConsistent) { task.resume() }
    }

    private func received(_ part: ByteBuffer, _ task: ClientTask) {
        guard next == nil, !isCancelled else { return }
        stream.append(part)
        do throws(NightjarError) {
            while !isCancelled, let event = try stream.next() { handler(event) }
        } catch {
            next = .fail(error.of(task.request, attempts: 1))
            task.cancel()
        }
    }

    private func ended(_ result: Result<Response, NightjarError>) {
        call.withLock { $0 = nil }
        guard !isCancelled else { return }
        if let action = next { return perform(action) }
        switch result {
        case .success: perform(stream.ended(nil, using: &random))
        case .failure(let error): perform(stream.ended(error, using: &random))
        }
    }
}

extension Client {
    /// Starts to read an event stream without blocking.
    ///
    /// - Parameters:
    ///   - queue: Where the callbacks run.
    ///   - handler: Receives each event.
    ///   - finished: Called once, after the last event.
    /// - Throws: `invalid_argument` for invalid settings; `closed`; `forked`.
    package func startEvents(
        _ request: Request, _ settings: EventStreamSettings, on queue: CompletionQueue,
        event handler: @escaping EventsOperation.Handler,
        finished: @escaping @Sendable (Result<Void, NightjarError>) -> Void
    ) throws(NightjarError) -> EventsOperation {
        try checkProcess()
        try settings.check()
        let operation = EventsOperation(self, request, settings, on: queue, event: handler, finished: finished)
        try operation.start()
        return operation
    }
}
