import DequeModule
import NIOCore
import NightjarHTTP
import Synchronization

/// The messages that a WebSocket has received and a Swift task has not read. Any thread.
final class WebSocketInbox: Sendable {
    typealias Reader = CheckedContinuation<Result<WebSocketMessage?, NightjarError>, Never>

    private struct State {
        /// Empty while a reader waits.
        var messages = Deque<WebSocketMessage>()
        var reader: Reader?
        /// The result of the WebSocket. Nil while it is open.
        var end: Result<Void, NightjarError>?
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Opens a WebSocket whose messages this object receives.
    func open(
        _ client: Client, _ request: Request, _ settings: WebSocketSettings
    ) throws(NightjarError) -> WebSocketSession {
        var handlers = WebSocketSession.Handlers { [self] _, message in add(message) }
        handlers.creditsAreManual = true
        return try client.startWebSocket(request, settings, on: nil, handlers) { [self] in end($0) }
    }

    // MARK: Events of the WebSocket

    private func add(_ message: WebSocketMessage) {
        let reader = state.withLock { state -> Reader? in
            if let reader = state.reader.take() { return reader }
            state.messages.append(message)
            return nil
        }
        reader?.resume(returning: .success(message))
    }

    private func end(_ result: Result<Void, NightjarError>) {
        let (reader, closers) = state.withLock { state in
            state.end = result
            return (state.reader.take(), exchange(&state.closers, with: []))
        }
        reader?.resume(returning: result.map { nil })
        for closer in closers { closer.resume() }
    }

    // MARK: Swift tasks

    /// Resumes a reader with the next message, or with nil at the end.
    func read(_ reader: Reader) {
        let result = state.withLock { state -> Result<WebSocketMessage?, NightjarError>? in
            if let message = state.messages.popFirst() { return .success(message) }
            if let end = state.end { return end.map { nil } }
            guard state.reader == nil else {
                return .failure(
                    NightjarError(.reentrant, "another Swift task already waits for a message of this WebSocket"))
            }
            state.reader = reader
            return nil
        }
        if let result { reader.resume(returning: result) }
    }

    func whenEnded(_ closer: CheckedContinuation<Void, Never>) {
        let hasEnded = state.withLock { state in
            if state.end == nil { state.closers.append(closer) }
            return state.end != nil
        }
        if hasEnded { closer.resume() }
    }
}
