import NIOCore
import NightjarHTTP

/// The callbacks of a call. They run one at a time, in the order of the events: inside `CompletionQueue.poll`,
/// `CompletionQueue.close` or the blocking call, or on the client's loop thread if the call has no queue. ``refreshed``
/// can have a queue of its own.
public struct TaskHandlers: Sendable {
    /// Why a call failed with `offline`, or waits for a network.
    public typealias OfflineReason = NightjarHTTP.OfflineReason

    /// Called with the response, whose body is empty, when its final head has been received. Called only if ``body`` is
    /// set. Not called after a cancel, or if the status is unexpected.
    public var head: (@Sendable (ClientTask, Response) -> Void)?
    /// Called with each part of the response body. If set, the response is not collected and its `body` is empty. The
    /// body of a response with an unexpected status is collected for the error instead. Reading from the network pauses
    /// when more than ``ClientTask/window`` bytes are unconsumed.
    public var body: (@Sendable (ClientTask, ByteBuffer) -> Void)?
    /// Called on the loop with each interim response (1xx) and the URL that was requested.
    package var interim: (@Sendable (ResponseHead, RequestURL) -> Void)?
    /// Whether a response with a head is passed to ``head`` and ``body``. Otherwise it is collected. Called on the loop.
    /// Nil: every response is, if ``body`` is set.
    package var streams: (@Sendable (ResponseHead) -> Bool)?
    /// If true, bytes passed to `body` count as consumed only after ``ClientTask/consumed(_:)``.
    public var creditsAreManual = false
    /// Reading from the network pauses when more bytes of a streamed response than this number are unconsumed.
    package var window = ClientTask.window
    /// Returns the next part of a `RequestBody.stream`, at most `maximum` bytes.
    public var provideBody: (@Sendable (ClientTask, _ maximum: Int) -> BodyPart)?
    /// Called before another attempt sends the body again, if an earlier attempt has requested a part. The source must
    /// restart from its beginning. If nil, a call is not repeated after a part was requested.
    public var rewindBody: (@Sendable (ClientTask) -> Void)?
    /// Called with the progress of the current attempt's bodies: about ten times a second while data moves, and once
    /// more before ``finished`` if the call succeeds and the progress has changed. Except for this last event, no event
    /// is posted while an earlier progress event is pending.
    public var progress: (@Sendable (ClientTask, Progress) -> Void)?
    /// Called when the call begins to wait for the network; see `ConnectivitySettings/maximumWait`.
    public var waiting: (@Sendable (ClientTask, OfflineReason) -> Void)?
    /// Decides whether a failed attempt is retried. Receives the client's own decision. Called after an error other
    /// than a cancel or the total timeout, and after a transient status that is not expected. Not called if part of the
    /// response was delivered, or if the request was rejected before it reached the transport. Not called for
    /// `pin_mismatch`, which is never retried.
    public var retry: (@Sendable (ClientTask, FailedAttempt) -> RetryAction)?
    /// Decides whether a redirect is followed. Called after the redirect response has been received completely, or its
    /// body has failed.
    public var redirect: (@Sendable (ClientTask, ProposedRedirect) -> RedirectAction)?
    /// Called once with the result of a background revalidation, after ``finished`` received a cached response
    /// (``CachePolicy/offlineFirst``, stale-while-revalidate). Not called if nothing is revalidated; see
    /// ``ClientTask/isRefreshing``.
    public var refreshed: (@Sendable (Result<Response, NightjarError>) -> Void)?
    /// The queue on which ``refreshed`` runs. Nil: the queue of the other callbacks. A blocking call needs a queue,
    /// because ``refreshed`` usually runs after the call has returned. If another thread polls the queue, ``refreshed``
    /// may also run before the call returns.
    public var refreshQueue: CompletionQueue?
    /// The queue on which hooks and decisions run, if the other callbacks run on the loop. Nil: the queue of the other
    /// callbacks.
    package var decisionQueue: CompletionQueue?
    /// Replaces the result before ``finished`` receives it. A handler that decodes the body uses it to report an invalid
    /// body. Called once.
    package var convertResult: ResultConversion?
    /// Called exactly once if the call was started. Only ``refreshed`` can follow.
    public var finished: @Sendable (ClientTask, Result<Response, NightjarError>) -> Void

    public init(finished: @escaping @Sendable (ClientTask, Result<Response, NightjarError>) -> Void) {
        self.finished = finished
    }
}

extension TaskHandlers {
    package typealias ResultConversion =
        @Sendable (ClientTask, Result<Response, NightjarError>) -> Result<Response, NightjarError>

    /// The next part of a streamed request body.
    public enum BodyPart: Sendable {
        case bytes(ByteBuffer)
        case end
        /// The source failed. The call fails with `invalid_request` and this message. The connection is closed, so that
        /// the server cannot mistake the partial body for a complete body.
        case failed(String)
        /// No data is available yet; call ``ClientTask/provide(_:)`` later.
        case later
    }
}

extension TaskHandlers {
    /// Whether the caller receives the response only when it is complete, and makes no decisions.
    var isForCompleteResponses: Bool {
        body == nil && head == nil && redirect == nil && retry == nil
    }
}
