import NightjarHTTP
import Synchronization

/// A call in progress, returned at once. Any thread may use it. The call is cancelled when all copies of this object are
/// released before its end.
///
///     let call = try client.startCall(Request(.get, "/articles"))
///     for await progress in call.progress { print(progress.received) }
///     let response = try await call.response
public final class CallHandle: Sendable {
    /// Decides about redirects and failed attempts of a call. A call waits for its decision.
    ///
    ///     var decisions = CallHandle.Decisions()
    ///     decisions.retry = { failed in failed.attempt < 3 ? .again(after: .seconds(1)) : .stop }
    ///     let call = try client.startCall(request, decisions: decisions)
    public struct Decisions: Sendable {
        /// The request that follows a redirect.
        public typealias ProposedRedirect = TaskHandlers.ProposedRedirect
        /// A decision about a redirect. `later` means `follow`.
        public typealias RedirectAction = TaskHandlers.RedirectAction
        /// A failed attempt and the client's own decision about it.
        public typealias FailedAttempt = TaskHandlers.FailedAttempt
        /// A decision about a failed attempt. `later` means `asDecided`.
        public typealias RetryAction = TaskHandlers.RetryAction

        /// Decides whether a redirect is followed. Nil: as the client decides.
        public var redirect: (@Sendable (ProposedRedirect) async -> RedirectAction)?
        /// Decides whether a failed attempt is retried. Nil: as the client decides.
        public var retry: (@Sendable (FailedAttempt) async -> RetryAction)?

        public init() {}
    }

    private let events = Events()
    private let task: ClientTask

    init(_ client: Client, _ request: Request, _ body: Request.StreamedBody?, _ decisions: Decisions)
        throws(NightjarError)
    {
        var handlers = events.handlers(for: decisions)
        if let body { BodyPump(body).connect(to: &handlers) }
        task = try client.start(body.map { request.with($0) } ?? request, on: nil, handlers)
    }

    deinit { task.cancel() }

    /// The URL of the request, resolved against the base URL.
    public var url: RequestURL { task.url }

    /// Whether the call has ended.
    public var isFinished: Bool { task.isFinished }

    /// Ends the call with `cancelled`. Has no effect after its end.
    public func cancel() { task.cancel() }

    /// The response. Waits for the end of the call. Any number of Swift tasks may wait. Cancelling a Swift task that waits
    /// cancels the call.
    public var response: Response {
        get async throws(NightjarError) {
            try await withTaskCancellationHandler {
                await withCheckedContinuation { events.response.add($0) }
            } onCancel: {
                task.cancel()
            }.get()
        }
    }

    /// The result of the background revalidation, if ``response`` is a cached response that is revalidated
    /// (``CachePolicy/offlineFirst``, stale-while-revalidate). Nil otherwise. Waits for the end of the revalidation.
    /// Cancelling a Swift task that waits does not end the revalidation.
    ///
    /// - Throws: The error of the call, or of the revalidation.
    public var refreshed: Response? {
        get async throws(NightjarError) {
            try await withCheckedContinuation { events.refreshed.add($0) }.get()
        }
    }

    /// The progress of the current attempt's bodies: the newest value at once, if there is one, and then about ten times a
    /// second while data moves. Ends with the call. A reader that is slower than the events receives only the newest one.
    public var progress: AsyncStream<TaskHandlers.Progress> { events.progress }

    /// Receives the events of the call. The call retains this object and not the handle.
    private final class Events: Sendable {
        let response = SharedOutcome<Response>()
        let refreshed = SharedOutcome<Response?>()
        private let watchers = Mutex(Watchers())

        private struct Watchers {
            var newest: TaskHandlers.Progress?
            var all: [Int: AsyncStream<TaskHandlers.Progress>.Continuation] = [:]
            var number = 0
            var hasEnded = false
        }

        func handlers(for decisions: Decisions) -> TaskHandlers {
            var handlers = TaskHandlers { [self] task, result in
                finish()
                response.end(result)
                if !task.isRefreshing { refreshed.end(result.map { _ in nil }) }
            }
            handlers.progress = { [self] in note($1) }
            handlers.refreshed = { [self] in refreshed.end($0.map(Optional.some)) }
            if let decide = decisions.redirect {
                handlers.redirect = { task, proposed in
                    Task {
                        let action = await decide(proposed)
                        if case .later = action { task.redirect(.follow) } else { task.redirect(action) }
                    }
                    return .later
                }
            }
            if let decide = decisions.retry {
                handlers.retry = { task, attempt in
                    Task {
                        let action = await decide(attempt)
                        if case .later = action { task.retry(.asDecided) } else { task.retry(action) }
                    }
                    return .later
                }
            }
            return handlers
        }

        var progress: AsyncStream<TaskHandlers.Progress> {
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                let number = watchers.withLock { watchers -> Int? in
                    if let newest = watchers.newest { continuation.yield(newest) }
                    guard !watchers.hasEnded else { return nil }
                    watchers.number += 1
                    watchers.all[watchers.number] = continuation
                    return watchers.number
                }
                guard let number else { return continuation.finish() }
                continuation.onTermination = { [weak self] _ in
                    _ = self?.watchers.withLock { $0.all.removeValue(forKey: number) }
                }
            }
        }

        private func note(_ progress: TaskHandlers.Progress) {
            let all = watchers.withLock { watchers in
                watchers.newest = progress
                return Array(watchers.all.values)
            }
            for watcher in all { watcher.yield(progress) }
        }

        private func finish() {
            let all = watchers.withLock { watchers in
                watchers.hasEnded = true
                return Array(exchange(&watchers.all, with: [:]).values)
            }
            for watcher in all { watcher.finish() }
        }
    }
}

extension Client {
    /// Starts a call and returns at once.
    ///
    /// - Parameters:
    ///   - body: A body that is produced while it is sent. It replaces that of the request.
    ///   - decisions: Decide about redirects and failed attempts.
    /// - Throws: `invalid_request` and `invalid_url`; `closed`; `forked`. Other errors are those of ``CallHandle/response``.
    public func startCall(
        _ request: Request, body: Request.StreamedBody? = nil, decisions: CallHandle.Decisions = .init()
    ) throws(NightjarError) -> CallHandle {
        try CallHandle(self, request, body, decisions)
    }
}
