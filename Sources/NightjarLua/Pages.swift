import CLua
import NIOCore
import Nightjar
import NightjarHandles

/// A paginated list and the position of a script in it. Belongs to the thread that runs the Lua state.
///
/// Any number of tasks may wait for the next page. The page is loaded once, and the first task that runs takes it.
final class Pages: @unchecked Sendable {
    enum Step {
        case ready(Page)
        case later
        case end
        case failed(NightjarError)
    }

    private let engine: Engine
    private let client: Client
    private let request: Request
    private let pagination: Pagination
    private let timeout: Duration?
    /// Sends the requests through the script. Nil if the client has no hooks.
    private let sender: ScriptSender?
    private(set) var paginator: Paginator
    /// The state at which the list started.
    private var start: String
    /// The page that was taken last. The script's position is in this page.
    private var current: Page?
    /// The result of a load that has not been taken.
    private var result: Result<Page?, NightjarError>?
    private var isLoading = false
    private var hasEnded = false
    /// Counts restarts, so that results of an earlier run are discarded.
    private var traversal = 0
    private var waiting: [Future] = []

    /// The list to read.
    struct List {
        let request: Request
        let pagination: Pagination
        /// The state from which the list continues. Nil: starts with the first page.
        let state: String?
        /// The timeout of the whole list. Nil: none; the timeouts of the individual calls still apply.
        let timeout: Duration?
    }

    /// - Parameter caller: the number of the caller that runs the client's hooks; 0: none.
    init(_ engine: Engine, _ client: Client, _ list: List, caller: Int64) throws(NightjarError) {
        self.engine = engine
        self.client = client
        request = engine.confined(list.request)
        pagination = list.pagination
        timeout = list.timeout
        sender = ScriptSender(engine, client, for: caller)
        paginator = try Paginator(
            client, request, pagination, resuming: list.state, timeout: timeout, sender: sender)
        start = paginator.state
    }

    deinit { paginator.cancel() }

    /// Takes the next page if it has been loaded. Otherwise starts to load it.
    ///
    /// - Parameter keepsError: whether the next call reports a failure again.
    func take(keepsError: Bool) -> Step {
        if engine.isForked { return .failed(NightjarError(.forked, "this list belongs to the parent process")) }
        switch result {
        case .success(let page?):
            result = nil
            current = page
            return .ready(page)
        case .success(nil):
            result = nil
            hasEnded = true
            return .end
        case .failure(let error):
            if !keepsError { result = nil }
            return .failed(error)
        case nil:
            guard !hasEnded else { return .end }
            load()
            return .later
        }
    }

    private func load() {
        guard !isLoading else { return }
        isLoading = true
        let traversal = traversal
        paginator.nextPage(on: engine.queue) { [weak self] result in
            guard let self, traversal == self.traversal else { return }
            isLoading = false
            self.result = result
            wake()
        }
    }

    /// Returns an outcome that ends when ``take(keepsError:)`` has a page, an error or the end of the list, or when the
    /// list is restarted or closed.
    func await(by wait: OpaquePointer) -> Future {
        let future = engine.pending(for: wait)
        waiting.append(future)
        if result != nil || !isLoading { wake() }
        return future
    }

    private func wake() {
        let futures = waiting
        waiting = []
        for future in futures { engine.complete(future) }
    }

    private func restart() {
        traversal += 1
        start = paginator.state
        current = nil
        result = nil
        isLoading = false
        hasEnded = false
        wake()
    }

    func close() {
        paginator.cancel()
        restart()
        hasEnded = true
    }

    /// Restarts the list. Results of the previous run are discarded.
    ///
    /// - Parameter state: nil: from the beginning.
    func restart(at state: String?) throws(NightjarError) {
        let next = try Paginator(client, request, pagination, resuming: state, timeout: timeout, sender: sender)
        paginator.cancel()
        paginator = next
        restart()
    }

    /// Returns the state after `consumed` items of the page taken last. Before the first page is taken, returns the
    /// state at which the list started.
    ///
    /// The paginator's own state is used only at the end of a list without pages. Before the end, the paginator may
    /// already have loaded a page that the script has not taken.
    func state(consumed: Int) -> String { current?.state(consumed: consumed) ?? (hasEnded ? paginator.state : start) }
}

@_cdecl("njl_pages_new") @implementation
public func njl_pages_new(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?, _ options: njl_bytes,
    _ state: njl_bytes, _ seconds: Double, _ caller: Int64, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client),
            let request = request?.pointee
        else { throw NightjarError(.closed, "the client is closed") }
        let operation = try request.operation
        var pagination = (operation?.pagination ?? Pagination()).guessing(by: operation)
        try pagination.merge(json: options.buffer)
        let state = state.data == nil ? nil : try state.text("the state")
        let list = Pages.List(
            request: try Request(request, for: client), pagination: pagination, state: state,
            timeout: Duration(seconds: seconds))
        return Handle<Pages>.make(try Pages(engine, client, list, caller: caller))
    }
}

@_cdecl("njl_pages_release") @implementation
public func njl_pages_release(_ pages: OpaquePointer?) { Handle<Pages>.release(pages) }

@_cdecl("njl_pages_close") @implementation
public func njl_pages_close(_ pages: OpaquePointer?) { Handle<Pages>.borrow(pages)?.close() }

@_cdecl("njl_pages_take") @implementation
public func njl_pages_take(
    _ pages: OpaquePointer?, _ page: UnsafeMutablePointer<OpaquePointer?>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> njl_page_step {
    guard let pages = Handle<Pages>.borrow(pages) else { return NJL_PAGE_END }
    switch pages.take(keepsError: error == nil) {
    case .ready(let ready):
        page?.pointee = Handle<Page>.make(ready)
        return NJL_PAGE_READY
    case .later: return NJL_PAGE_LATER
    case .end: return NJL_PAGE_END
    case .failed(let failure):
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return NJL_PAGE_FAILED
    }
}

@_cdecl("njl_pages_await") @implementation
public func njl_pages_await(_ pages: OpaquePointer?, _ wait: OpaquePointer?) -> OpaquePointer? {
    guard let pages = Handle<Pages>.borrow(pages), let wait else { return nil }
    return Handle<Future>.make(pages.await(by: wait))
}

@_cdecl("njl_pages_set_next") @implementation
public func njl_pages_set_next(
    _ pages: OpaquePointer?, _ decision: njl_decision, _ query: UnsafePointer<njl_pair>?, _ count: Int,
    _ url: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let handle = pages, let pages = Handle<Pages>.borrow(handle) else {
            throw NightjarError(.closed, "the list is closed")
        }
        switch decision {
        case NJL_NEXT_URL: pages.paginator.setNext(.url(try url.text("the URL")))
        case NJL_NEXT_QUERY:
            var items: [(name: String, value: String)] = []
            for pair in UnsafeBufferPointer(start: query, count: query == nil ? 0 : count) {
                items.append((try pair.name.text("a query name"), try pair.value.text("a query value")))
            }
            pages.paginator.setNext(.query(items))
        default: pages.paginator.setNext(.end)
        }
        return handle
    } != nil
}

@_cdecl("njl_pages_begin") @implementation
public func njl_pages_begin(
    _ pages: OpaquePointer?, _ state: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let handle = pages, let pages = Handle<Pages>.borrow(handle) else {
            throw NightjarError(.closed, "the list is closed")
        }
        try pages.restart(at: state.data == nil ? nil : try state.text("the state"))
        return handle
    } != nil
}

@_cdecl("njl_pages_state") @implementation
public func njl_pages_state(_ pages: OpaquePointer?, _ consumed: Int) -> OpaquePointer? {
    guard let pages = Handle<Pages>.borrow(pages) else { return nil }
    return Handle<BorrowedText>.make(BorrowedText(pages.state(consumed: max(consumed, 0))))
}

@_cdecl("njl_pages_explanation") @implementation
public func njl_pages_explanation(_ pages: OpaquePointer?) -> OpaquePointer? {
    Handle<Pages>.borrow(pages).map { Handle<BorrowedText>.make(BorrowedText($0.paginator.explanation)) }
}

// MARK: Pages

@_cdecl("njl_page_number") @implementation
public func njl_page_number(_ page: OpaquePointer?) -> Int64 { Handle<Page>.borrow(page).map { Int64($0.number) } ?? 0 }

@_cdecl("njl_page_count") @implementation
public func njl_page_count(_ page: OpaquePointer?) -> Int { Handle<Page>.borrow(page)?.count ?? 0 }

@_cdecl("njl_page_item") @implementation
public func njl_page_item(_ page: OpaquePointer?, _ index: Int) -> njl_bytes {
    guard let page = Handle<Page>.borrow(page), 0..<page.count ~= index else { return njl_bytes(data: nil, length: 0) }
    // The page keeps its response and the buffer in place.
    return page.text(index).withUnsafeReadableBytes { njl_bytes($0) }
}

@_cdecl("njl_page_response") @implementation
public func njl_page_response(_ page: OpaquePointer?) -> OpaquePointer? {
    Handle<Page>.borrow(page).map { Handle<Future>.make(Future(.success($0.response))) }
}

@_cdecl("njl_page_release") @implementation
public func njl_page_release(_ page: OpaquePointer?) { Handle<Page>.release(page) }
