import NIOCore
import NightjarHTTP
import Synchronization

/// The events of an event stream (server-sent events), for one `for try await` loop.
///
/// The stream connects when the loop begins, and connects again when its connection ends or fails. Each connection is a
/// call with the client's credentials, limits and proxies. The loop ends when the server responds with 204, and throws
/// if the stream fails permanently or the Swift task is cancelled. Leaving the loop closes the connection. Reading from
/// the network pauses while the loop is behind.
public final class Events: AsyncSequence, Sendable {
    public typealias Element = ServerEvent
    public typealias Failure = NightjarError
    public typealias Settings = EventStreamSettings
    public typealias State = EventStreamState

    private let client: Client
    private let request: Request
    private let settings: Settings
    private let snapshot: Mutex<Snapshot>

    private struct Snapshot: Sendable {
        var lastEventID: String
        var history = StreamHistory(EventStreamState.connecting)
    }

    init(_ client: Client, _ request: Request, _ settings: Settings) throws(NightjarError) {
        try settings.check()
        self.client = client
        self.request = request
        self.settings = settings
        snapshot = Mutex(Snapshot(lastEventID: settings.lastEventID))
    }

    /// The id of the last event that the loop has received. A later stream that begins with it continues after this
    /// event; see ``EventStreamSettings/lastEventID``.
    public var lastEventID: String { snapshot.withLock { $0.lastEventID } }
    /// The state of the connection.
    public var state: State { snapshot.withLock { $0.history.state } }
    /// The changes of the state and their reasons, one per line: at most the last 100.
    public var explanation: String { snapshot.withLock { $0.history.explanation } }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// Reads the events. For one Swift task.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let events: Events
        private var stream: EventStream
        private var parts: StreamedResponse.Body.AsyncIterator?
        private let start = ContinuousClock.now
        private var random = SystemRandomNumberGenerator()

        init(_ events: Events) {
            self.events = events
            stream = EventStream(events.settings)
        }

        /// Returns the next event, or nil at the end of the stream.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(NightjarError) -> ServerEvent? {
            do throws(NightjarError) {
                if stream.state == .connecting { try await perform(.connect, actor) }
                while stream.state != .closed {
                    if let event = try stream.next() {
                        events.received(event)
                        return event
                    }
                    try await read(actor)
                }
                return nil
            } catch {
                stream.close()
                parts = nil
                note()
                throw error
            }
        }

        /// Reads a part of the body, or handles its end.
        private mutating func read(_ actor: isolated (any Actor)?) async throws(NightjarError) {
            var end: NightjarError?
            do throws(NightjarError) {
                if let part = try await parts?.next(isolation: actor) { return stream.append(part) }
            } catch {
                end = error
            }
            parts = nil
            try await perform(stream.ended(end, using: &random), actor)
        }

        /// Performs an action and those that follow, until the stream is open or closed.
        private mutating func perform(
            _ action: EventStream.Action, _ actor: isolated (any Actor)?
        ) async throws(NightjarError) {
            var next: EventStream.Action? = action
            while let action = next {
                note()
                switch action {
                case .connect: next = try await connect(actor)
                case .wait(let time):
                    guard (try? await Task.sleep(for: time)) != nil else {
                        throw NightjarError(.cancelled, "the event stream was cancelled")
                    }
                    next = stream.waited()
                case .end: next = nil
                case .fail(let error): throw error
                }
            }
            note()
        }

        /// Returns the action that follows, or nil if the stream is open.
        private mutating func connect(
            _ actor: isolated (any Actor)?
        ) async throws(NightjarError) -> EventStream.Action? {
            let request = try stream.prepare(events.request, using: &random)
            do throws(NightjarError) {
                let streamed = try await events.client.stream(request)
                if let action = stream.opened(streamed.response) { return action }
                parts = streamed.body.makeAsyncIterator()
                return nil
            } catch {
                return stream.ended(error, using: &random)
            }
        }

        private func note() { events.note(stream, at: start.duration(to: .now)) }
    }

    private func note(_ stream: EventStream, at time: Duration) {
        snapshot.withLock { $0.history.note(stream.state, stream.reason, at: time) }
    }

    private func received(_ event: ServerEvent) { snapshot.withLock { $0.lastEventID = event.id } }
}

extension Client {
    /// Returns the events of an event stream (server-sent events, WHATWG HTML section 9.2). Nothing is sent before the
    /// first event is requested.
    ///
    /// - Throws: `invalid_argument` for invalid settings.
    public func events(_ request: Request, _ settings: Events.Settings = .init()) throws(NightjarError) -> Events {
        try Events(self, request, settings)
    }
}
