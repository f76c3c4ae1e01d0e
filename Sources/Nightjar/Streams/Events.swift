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

    private let source: Source
    private let settings: Settings
    private let snapshot: Mutex<Snapshot>

    private enum Source: Sendable {
        case request(Client, Request)
        /// A response that is open. The stream does not connect again.
        case response(StreamedResponse)
    }

    private struct Snapshot: Sendable {
        var lastEventID: String
        var reconnectionTime: Duration?
        var response: Response?
        var history = StreamHistory(EventStreamState.connecting)
    }

    init(_ client: Client, _ request: Request, _ settings: Settings) throws(NightjarError) {
        try settings.check()
        source = .request(client, request)
        self.settings = settings
        snapshot = Mutex(Snapshot(lastEventID: settings.lastEventID))
    }

    fileprivate init(_ response: StreamedResponse, maximumEvent: Int) {
        source = .response(response)
        var settings = Settings()
        settings.maximumEvent = maximumEvent
        self.settings = settings
        snapshot = Mutex(Snapshot(lastEventID: ""))
    }

    /// The last id that the loop has received, with an event or after it. A later stream that begins with it continues
    /// there; see ``EventStreamSettings/lastEventID``.
    public var lastEventID: String { snapshot.withLock { $0.lastEventID } }
    /// The wait that the server has asked for before the next connection, or else
    /// ``EventStreamSettings/reconnectionTime``.
    public var reconnectionTime: Duration { snapshot.withLock { $0.reconnectionTime } ?? settings.reconnectionTime }
    /// The response of the last connection, without its body. Nil before the first one.
    public var response: Response? { snapshot.withLock { $0.response } }
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
                    let event = try stream.next()
                    events.received(stream)
                    if let event { return event }
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
            do throws(NightjarError) {
                let streamed: StreamedResponse
                switch events.source {
                case .request(let client, let request):
                    streamed = try await client.stream(try stream.prepare(request, using: &random))
                case .response(let response): streamed = response
                }
                let response = streamed.response
                events.snapshot.withLock { $0.response = response }
                if let action = stream.opened(response) { return action }
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

    private func received(_ stream: EventStream) {
        snapshot.withLock {
            $0.lastEventID = stream.lastEventID
            $0.reconnectionTime = stream.currentReconnectionTime
        }
    }
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

extension StreamedResponse {
    /// The events of the body, for one `for try await` loop. The end of the response ends the loop. If the connection
    /// breaks, the loop throws; `client.events(_:_:)` continues after ``Events/lastEventID``.
    ///
    /// The loop throws `decoding` if the response is not an event stream.
    ///
    /// - Parameter maximumEvent: The maximum size of the data of an event in bytes.
    public func events(maximumEvent: Int = 1 << 20) -> Events { Events(self, maximumEvent: maximumEvent) }
}
