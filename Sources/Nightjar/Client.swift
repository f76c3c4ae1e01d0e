import NightjarHTTP
import NightjarTransport

/// An API client: a pool of connections, policies, and the event loop they live on.
///
/// Any thread may use it. Clients share nothing; open one for each API, or one for each core.
public final class Client: Sendable {
    /// - Throws: `invalid_url`, `invalid_request` or `tls` when the configuration cannot work.
    public init(_ configuration: Configuration = Configuration()) throws(NightjarError) {}

    /// Starts a call without waiting.
    ///
    /// - Parameters:
    ///   - queue: where the handlers run; none of them runs before this returns. Nil: on the client's loop thread,
    ///     where they must not block.
    /// - Throws: what is wrong with the request itself (`invalid_url`, `invalid_request`), `closed` or `forked`. What
    ///   goes wrong on the network arrives in `finished`.
    @discardableResult
    public func start(
        _ request: Request, on queue: CompletionQueue?, _ handlers: TaskHandlers
    ) throws(NightjarError) -> ClientTask {
        throw NightjarError(.closed, "not built yet")
    }

    /// Sends and waits on this thread, running the handlers of this call meanwhile. `handlers.finished` also runs.
    public func sendBlocking(_ request: Request, handlers: TaskHandlers? = nil) throws(NightjarError) -> Response {
        throw NightjarError(.closed, "not built yet")
    }

    /// Sends and suspends the Swift task; cancelling that cancels the call.
    public func send(_ request: Request) async throws(NightjarError) -> Response {
        throw NightjarError(.closed, "not built yet")
    }

    /// Cancels every call in flight, so that each finishes, closes the connections and returns when nothing of this
    /// client runs any more. Later calls fail with `closed`. In a forked child only marks the client closed.
    public func close() {}
}
