import NightjarHTTP

/// Reads a list page by page on demand, and loads following pages in advance.
///
/// Any thread may use a paginator. One load runs at a time. A page that fails is usually loaded again when the next
/// page is requested, and the list continues with this page. A server may request a delay (429 or 503 with Retry-After)
/// beyond the client's retries. The paginator then waits within `timeout`, or for up to an hour if there is no timeout.
/// Releasing the paginator cancels the load in flight.
public final class Paginator: Sendable {
    private let loader: PageLoader
    private let client: Client

    /// Whether the paginator belongs to the parent of this forked process.
    package var isOfParent: Bool { client.isOfParent }

    /// Creates a paginator without sending a request.
    ///
    /// - Parameters:
    ///   - request: The request for the first page; its options apply to each page. Nothing is sent before the first
    ///     page is requested.
    ///   - state: The position to resume from, from ``state`` or ``Page/state(consumed:)`` of a paginator with the same
    ///     request and options.
    ///   - timeout: The timeout of the whole list, from the first requested page. The time that the program spends
    ///     between pages also counts. Nil: only each call has a timeout.
    /// - Throws: `invalid_argument` for invalid options and for the state of another list; `invalid_url` or
    ///   `invalid_request` for an invalid request.
    public convenience init(
        _ client: Client, _ request: Request, _ pagination: Pagination = Pagination(), resuming state: String? = nil,
        timeout: Duration? = nil
    ) throws(NightjarError) {
        try self.init(client, request, pagination, resuming: state, timeout: timeout, sender: nil)
    }

    /// - Parameter sender: Sends the requests instead of the client; nil: the client sends them.
    package init(
        _ client: Client, _ request: Request, _ pagination: Pagination, resuming state: String?, timeout: Duration?,
        sender: (any RequestSender)?
    ) throws(NightjarError) {
        self.client = client
        loader = try PageLoader(client, request, pagination, resuming: state, timeout: timeout, sender: sender)
    }

    deinit { cancel() }

    /// Requests the next page. Requests are completed in order. A page may have no items.
    ///
    /// - Parameters:
    ///   - queue: `finished` runs when this queue is polled. Nil: `finished` runs on the client's loop thread and must
    ///     not block. In three cases, `finished` runs on this thread before this method returns: in a forked child; if
    ///     the queue is closed; if `queue` is nil and the client is closed.
    ///   - finished: Called once, with nil after the last page.
    public func nextPage(
        on queue: CompletionQueue?, _ finished: @escaping @Sendable (Result<Page?, NightjarError>) -> Void
    ) {
        begin(PageWaiter(loader, on: queue, finished))
    }

    /// Like ``nextPage(on:_:)``, but `finished` never runs on this thread before this method returns.
    ///
    /// - Throws: `forked`; `closed` for a closed queue. `finished` is then never called.
    public func startNextPage(
        on queue: CompletionQueue, _ finished: @escaping @Sendable (Result<Page?, NightjarError>) -> Void
    ) throws(NightjarError) {
        try loader.begin(PageWaiter(loader, on: queue, finished))
    }

    private func begin(_ waiter: PageWaiter) {
        do throws(NightjarError) { try loader.begin(waiter) } catch { waiter.completeInline(error) }
    }

    /// Blocks the thread and returns the next page, or nil after the last page.
    ///
    /// - Throws: `reentrant` on the client's own thread.
    public func nextPageBlocking() throws(NightjarError) -> Page? { try nextPageBlocking(on: CompletionQueue()) }

    /// Like ``nextPageBlocking()``, with an existing queue.
    ///
    /// - Parameter queue: A queue used only by this thread, which polls the queue while it waits.
    public func nextPageBlocking(on queue: CompletionQueue) throws(NightjarError) -> Page? {
        try client.checkMayWait()
        let outcome = Outcome()
        nextPage(on: queue) { outcome.result = $0 }
        return try client.wait(on: queue) { outcome.result }.get()
    }

    /// Returns the next page; nil after the last page. Cancelling the Swift task ends the wait, and cancels the load if
    /// there is no other waiter.
    public func nextPage() async throws(NightjarError) -> Page? {
        try await outcome { (finished) throws(NightjarError) in
            let waiter = PageWaiter(loader, on: nil, finished)
            begin(waiter)
            return waiter
        }
    }

    /// Sets the queue on which the client's hooks and token providers run when pages are loaded later. A load then
    /// waits until the queue is polled. Nil, the default: hooks and token providers run on the loop.
    public func deliverCallbacks(on queue: CompletionQueue?) { loader.submit { $0.deliverCallbacks(on: queue) } }

    /// Sets the next page for the style `custom`. If `next` is invalid, the next request for a page fails.
    public func setNext(_ next: Pagination.NextPage) { loader.submit { $0.setNext(next) } }

    /// Restarts with the first page. Detected settings and prefetched pages are discarded. Pending requests continue
    /// with the first page.
    public func refresh() { loader.submit { $0.refresh() } }

    /// Cancels the load in flight. Pending requests fail with `cancelled`. The position is kept: a later request loads
    /// the same page again.
    public func cancel() { loader.submit { $0.cancel() } }

    /// The position after the last page returned, as a text without secrets for a later run.
    public var state: String { loader.state }

    /// How the list's pagination was detected, as one sentence. Empty if nothing was detected, and before the first
    /// page.
    public var explanation: String { loader.explanation }

    /// The result of a blocking request for a page. Used only on the waiting thread.
    private final class Outcome: @unchecked Sendable {
        var result: Result<Page?, NightjarError>?
    }
}
