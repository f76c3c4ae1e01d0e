import NightjarHTTP

/// Reads a list page by page, as long as somebody asks; what comes next is loaded meanwhile.
///
/// Any thread may use it, and one load runs at a time, however often it is asked. A page that fails is loaded again by the
/// next who asks, and the list goes on from it. A server that says when to come back (429 or 503 with Retry-After, beyond
/// what the client's retries wait) is waited for: within `timeout`, or an hour where there is none. Dropping the pager
/// cancels what is in flight.
public final class Pager: Sendable {
    private let walker: PageWalker
    private let client: Client

    /// Whether the pager belongs to the parent of this forked process.
    package var isOfParent: Bool { client.isOfParent }

    /// - Parameters:
    ///   - request: of the first page; its options are those of each page. Nothing is sent before the first page is asked
    ///     for.
    ///   - state: where to go on, from ``state`` or ``Page/state(consumed:)`` of a pager with the same request and options.
    ///   - timeout: for the whole list, counted from the first page that is asked for. What the program does between pages
    ///     counts. Nil: each call has its own limit alone.
    /// - Throws: `invalid_argument` for options that make no sense and for a state that is of another list; `invalid_url`
    ///   and `invalid_request` for the request.
    public convenience init(
        _ client: Client, _ request: Request, _ pagination: Pagination = Pagination(), resuming state: String? = nil,
        timeout: Duration? = nil
    ) throws(NightjarError) {
        try self.init(client, request, pagination, resuming: state, timeout: timeout, sender: nil)
    }

    /// - Parameter sender: sends the requests of pages; nil: the client does.
    package init(
        _ client: Client, _ request: Request, _ pagination: Pagination, resuming state: String?, timeout: Duration?,
        sender: (any RequestSender)?
    ) throws(NightjarError) {
        self.client = client
        walker = try PageWalker(client, request, pagination, resuming: state, timeout: timeout, sender: sender)
    }

    deinit { cancel() }

    /// Asks for the next page. Asks are answered in their order. A page may have no items.
    ///
    /// - Parameters:
    ///   - queue: where `finished` runs, inside its poll; nil: on the client's loop thread, where it must not block. Where
    ///     neither runs any more (a forked process, a closed queue or client) it runs on this thread, before this returns.
    ///   - finished: runs once, with nil behind the last page.
    public func nextPage(
        on queue: CompletionQueue?, _ finished: @escaping @Sendable (Result<Page?, NightjarError>) -> Void
    ) {
        begin(PageAsk(walker, on: queue, finished))
    }

    /// The same where it must not run before this returns.
    ///
    /// - Throws: `forked`; `closed` for a closed queue. Then `finished` never runs.
    public func startNextPage(
        on queue: CompletionQueue, _ finished: @escaping @Sendable (Result<Page?, NightjarError>) -> Void
    ) throws(NightjarError) {
        try walker.begin(PageAsk(walker, on: queue, finished))
    }

    private func begin(_ ask: PageAsk) {
        do throws(NightjarError) { try walker.begin(ask) } catch { ask.answerHere(error) }
    }

    /// The next page, waited for on this thread; nil behind the last.
    ///
    /// - Throws: `reentrant` on the client's own thread.
    public func nextPageBlocking() throws(NightjarError) -> Page? { try nextPageBlocking(on: CompletionQueue()) }

    /// - Parameter queue: polled meanwhile; of this thread alone.
    public func nextPageBlocking(on queue: CompletionQueue) throws(NightjarError) -> Page? {
        try client.checkMayWait()
        let outcome = Outcome()
        nextPage(on: queue) { outcome.result = $0 }
        return try client.wait(on: queue) { outcome.result }.get()
    }

    /// The next page; nil behind the last. Cancelling the Swift task ends the wait, and the load where nobody else waits.
    public func nextPage() async throws(NightjarError) -> Page? {
        let pending = Pending<PageAsk>()
        let result: Result<Page?, NightjarError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let ask = PageAsk(walker, on: nil) { continuation.resume(returning: $0) }
                begin(ask)
                pending.set(ask)
            }
        } onCancel: {
            pending.cancel()
        }
        return try result.get()
    }

    /// Has hooks and token providers of the client that are not for its loop run inside the poll of `queue` when pages are
    /// loaded from now on; a load then waits for that poll. Nil, as at the beginning: they run on the loop.
    public func deliverCallbacks(on queue: CompletionQueue?) { walker.submit { $0.deliverCallbacks(on: queue) } }

    /// Says, in style custom, how the list goes on behind the page given last. What is wrong with it, whoever asks next is
    /// told.
    public func goOn(_ next: NextPage) { walker.submit { $0.goOn(next) } }

    /// Begins anew with the first page. What was found out, met and loaded ahead is forgotten; who waits gets the first page.
    public func refresh() { walker.submit { $0.refresh() } }

    /// Cancels the load in flight; who waits for a page hears `cancelled`. The place stays: whoever asks later has the same
    /// page loaded again.
    public func cancel() { walker.submit { $0.cancel() } }

    /// The position behind the page that was given last, as a text for another run. It has no secrets.
    public var state: String { walker.state }

    /// What was guessed about the list, as one sentence; empty where nothing was, and before the first page.
    public var explanation: String { walker.explanation }

    /// Written and read on the thread that waits.
    private final class Outcome: @unchecked Sendable {
        var result: Result<Page?, NightjarError>?
    }
}
