import CNightjar
import NIOCore
import Nightjar
import NightjarHandles
import NightjarSystem
import Synchronization

/// The pagination options of a list, which C fills step by step.
final class PaginationBox {
    var pagination: Pagination
    /// The time limit for the whole list.
    var timeout: Duration?

    init(_ pagination: Pagination) { self.pagination = pagination }
}

/// A paginated list as C sees it. Used by one thread at a time, except that any thread may cancel `paginator`.
final class PaginatorBox: @unchecked Sendable {
    let paginator: Paginator
    /// The queue of blocking calls.
    private let queue = CompletionQueue()
    /// The queue on which callbacks currently run.
    private weak var serving: CompletionQueue?
    /// The page whose items are being returned, and the index of the next item.
    private var page: Page?
    private var next = 0
    /// The item that C borrows.
    private var borrowed: CString?

    init(_ paginator: Paginator) { self.paginator = paginator }

    deinit { close() }

    /// Cancels the loads in progress and runs their remaining events.
    func close() {
        paginator.cancel()
        queue.close()
    }

    private func serve(on queue: CompletionQueue) {
        guard serving !== queue else { return }
        serving = queue
        paginator.deliverCallbacks(on: queue)
    }

    /// Returns the next item; nil at the end of the list.
    func nextItem() throws(NightjarError) -> (text: UnsafePointer<CChar>, length: Int)? {
        borrowed = nil
        while true {
            if let page, next < page.count {
                let text = page.text(next)
                let item = CString(String(buffer: text))
                next += 1
                borrowed = item
                return (item.pointer, text.readableBytes)
            }
            guard try nextPage() != nil else { return nil }
            next = 0
        }
    }

    /// Returns the next page and skips the remaining items of the current page; nil at the end of the list.
    func nextPage() throws(NightjarError) -> Page? {
        page = nil
        serve(on: queue)
        page = try paginator.nextPageBlocking(on: queue)
        next = page?.count ?? 0
        return page
    }

    func startNextPage(
        on queue: CompletionQueue, _ finished: @escaping @Sendable (Result<Page?, NightjarError>) -> Void
    ) throws(NightjarError) {
        let place = (page, next, borrowed)
        skip()
        serve(on: queue)
        do throws(NightjarError) {
            try paginator.startNextPage(on: queue, finished)
        } catch {
            (page, next, borrowed) = place
            throw error
        }
    }

    func skip() {
        (page, next) = (nil, 0)
        borrowed = nil
    }

    /// The state of the list: after the last returned item of the current page.
    var state: String { page?.state(consumed: next) ?? paginator.state }
}

/// A page with its texts as C strings.
final class PageBox: Sendable {
    let page: Page
    let response: ResponseBox
    /// The items that C has read, by index.
    private let texts = Mutex<[Int: CString]>([:])

    init(_ page: Page) {
        self.page = page
        response = ResponseBox(page.response)
    }

    func item(_ index: Int) -> (text: UnsafePointer<CChar>, length: Int)? {
        guard 0..<page.count ~= index else { return nil }
        let text = page.text(index)
        let kept = texts.withLock { texts in
            if let known = texts[index] { return known }
            let made = CString(String(buffer: text))
            texts[index] = made
            return made
        }
        return (kept.pointer, text.readableBytes)
    }
}

private func changePagination(
    _ handle: OpaquePointer?, _ change: (inout Pagination) throws(NightjarError) -> Void
) -> nj_status {
    setting { () throws(NightjarError) in
        try change(&required(Handle<PaginationBox>.borrow(handle), "pagination").pagination)
    }
}

private func pointer(_ pointer: UnsafePointer<CChar>?) throws(NightjarError) -> JSONPointer? {
    pointer == nil ? nil : try JSONPointer(required(text(pointer), "pointer"))
}

// MARK: Options

@_cdecl("nj_pagination_new") @implementation
public func nj_pagination_new(_ kind: nj_pagination_style) -> OpaquePointer? {
    making { () throws(NightjarError) in
        let style: Pagination.Style
        switch kind {
        case NJ_PAGINATION_GUESS: style = .guess
        case NJ_PAGINATION_PAGE: style = .page
        case NJ_PAGINATION_OFFSET: style = .offset
        case NJ_PAGINATION_CURSOR: style = .cursor
        case NJ_PAGINATION_LINK: style = .link
        case NJ_PAGINATION_NEXT: style = .next
        case NJ_PAGINATION_HEADER: style = .header
        case NJ_PAGINATION_CUSTOM: style = .custom
        default: throw NightjarError(.invalidArgument, "style is not a value of nj_pagination_style")
        }
        return Handle.make(PaginationBox(Pagination(style)))
    }
}

@_cdecl("nj_pagination_free") @implementation
public func nj_pagination_free(_ pagination: OpaquePointer?) {
    _ = Handle<PaginationBox>.take(pagination)
}

@_cdecl("nj_pagination_set_items") @implementation
public func nj_pagination_set_items(_ pagination: OpaquePointer?, _ text: UnsafePointer<CChar>?) -> nj_status {
    changePagination(pagination) { pagination throws(NightjarError) in pagination.items = try pointer(text) }
}

@_cdecl("nj_pagination_set_next") @implementation
public func nj_pagination_set_next(_ pagination: OpaquePointer?, _ text: UnsafePointer<CChar>?) -> nj_status {
    changePagination(pagination) { pagination throws(NightjarError) in pagination.next = try pointer(text) }
}

@_cdecl("nj_pagination_set_key") @implementation
public func nj_pagination_set_key(_ pagination: OpaquePointer?, _ text: UnsafePointer<CChar>?) -> nj_status {
    changePagination(pagination) { pagination throws(NightjarError) in pagination.key = try pointer(text) }
}

@_cdecl("nj_pagination_set_total_timeout") @implementation
public func nj_pagination_set_total_timeout(_ pagination: OpaquePointer?, _ seconds: Double) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<PaginationBox>.borrow(pagination), "pagination")
        box.timeout = try limit(seconds)
    }
}

@_cdecl("nj_pagination_merge_json") @implementation
public func nj_pagination_merge_json(
    _ pagination: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<PaginationBox>.borrow(pagination), "pagination")
        try box.pagination.merge(json: try document(json, length))
    }
}

/// Returns the paginator of a handle.
///
/// - Throws: `invalid_argument` for NULL; `forked` for a paginator of the parent process.
private func livePaginator(_ paginator: OpaquePointer?) throws(NightjarError) -> PaginatorBox {
    let box = try required(Handle<PaginatorBox>.borrow(paginator), "paginator")
    guard !box.paginator.isOfParent else {
        throw NightjarError(.forked, "this paginator belongs to the parent process; create a paginator after fork")
    }
    return box
}

// MARK: Iteration

@_cdecl("nj_paginator_new") @implementation
public func nj_paginator_new(
    _ client: OpaquePointer?, _ request: OpaquePointer?, _ pagination: OpaquePointer?,
    _ state: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let request = try required(Handle<RequestBox>.borrow(request), "request")
        try client.checkProcess()
        let state = try optional(state, "state")
        let options = Handle<PaginationBox>.borrow(pagination)
        let operation = request.endpoint?.operation
        let pagination = (options?.pagination ?? operation?.pagination ?? Pagination()).guessing(by: operation)
        return try request.withRequest(for: client) { made throws(NightjarError) in
            Handle.make(
                PaginatorBox(try Paginator(client, made, pagination, resuming: state, timeout: options?.timeout)))
        }
    }
}

@_cdecl("nj_paginator_free") @implementation
public func nj_paginator_free(_ paginator: OpaquePointer?) {
    Handle<PaginatorBox>.take(paginator)?.close()
}

/// - Parameter found: called with the result, unless `find` reached the end or failed.
private func next<Found>(
    _ outError: UnsafeMutablePointer<OpaquePointer?>?, _ find: () throws(NightjarError) -> Found?,
    _ found: (Found) -> Void
) -> nj_next_status {
    let result: Found?? = reporting(to: outError, find)
    guard let result else { return NJ_NEXT_FAILED }
    guard let result else { return NJ_NEXT_END }
    found(result)
    return NJ_NEXT_FOUND
}

@_cdecl("nj_paginator_next_item") @implementation
public func nj_paginator_next_item(
    _ paginator: OpaquePointer?, _ outJSON: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ outLength: UnsafeMutablePointer<Int>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_next_status {
    outJSON?.pointee = nil
    outLength?.pointee = 0
    return next(outError) { () throws(NightjarError) in
        try livePaginator(paginator).nextItem()
    } _: { item in
        outJSON?.pointee = item.text
        outLength?.pointee = item.length
    }
}

@_cdecl("nj_paginator_next_page") @implementation
public func nj_paginator_next_page(
    _ paginator: OpaquePointer?, _ outPage: UnsafeMutablePointer<OpaquePointer?>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_next_status {
    outPage?.pointee = nil
    return next(outError) { () throws(NightjarError) in
        _ = try required(outPage, "out_page")
        return try livePaginator(paginator).nextPage()
    } _: { page in
        outPage?.pointee = Handle.make(PageBox(page))
    }
}

@_cdecl("nj_paginator_start_next_page") @implementation
public func nj_paginator_start_next_page(
    _ paginator: OpaquePointer?, _ queue: OpaquePointer?, _ done: nj_next_page_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try livePaginator(paginator)
        let queue = try requiredQueue(queue)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        try box.startNextPage(on: queue) { result in
            withExtendedLifetime(box) {
                switch result {
                case .success(nil): done(context.pointer, Handle.lend(box), nil, nil)
                case .success(let page?):
                    let borrowed = PageBox(page)
                    withExtendedLifetime(borrowed) {
                        done(context.pointer, Handle.lend(box), Handle.lend(borrowed), nil)
                    }
                case .failure(let error):
                    let borrowed = ErrorBox(error)
                    withExtendedLifetime(borrowed) {
                        done(context.pointer, Handle.lend(box), nil, Handle.lend(borrowed))
                    }
                }
            }
        }
    }
}

@_cdecl("nj_paginator_set_next_url") @implementation
public func nj_paginator_set_next_url(_ paginator: OpaquePointer?, _ url: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try livePaginator(paginator)
        box.paginator.setNext(url == nil ? .end : .url(try required(text(url), "url")))
    }
}

@_cdecl("nj_paginator_set_next_query") @implementation
public func nj_paginator_set_next_query(
    _ paginator: OpaquePointer?, _ items: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try livePaginator(paginator)
        guard var next = items else { return box.paginator.setNext(.end) }
        var query: [(name: String, value: String)] = []
        while let name = next.pointee {
            guard let value = next.successor().pointee else {
                throw NightjarError(.invalidArgument, "the last query item has a name but no value")
            }
            query.append((name: try required(text(name), "a name"), value: try required(text(value), "a value")))
            next += 2
        }
        box.paginator.setNext(.query(query))
    }
}

@_cdecl("nj_paginator_refresh") @implementation
public func nj_paginator_refresh(_ paginator: OpaquePointer?) {
    guard let box = Handle<PaginatorBox>.borrow(paginator), !box.paginator.isOfParent else { return }
    box.skip()
    box.paginator.refresh()
}

@_cdecl("nj_paginator_cancel") @implementation
public func nj_paginator_cancel(_ paginator: OpaquePointer?) {
    Handle<PaginatorBox>.borrow(paginator)?.paginator.cancel()
}

@_cdecl("nj_paginator_state") @implementation
public func nj_paginator_state(_ paginator: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Handle<PaginatorBox>.borrow(paginator).flatMap { $0.paginator.isOfParent ? nil : strdup($0.state) }
}

@_cdecl("nj_paginator_explanation") @implementation
public func nj_paginator_explanation(_ paginator: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Handle<PaginatorBox>.borrow(paginator).flatMap { $0.paginator.isOfParent ? nil : strdup($0.paginator.explanation) }
}

// MARK: Pages

@_cdecl("nj_page_number") @implementation
public func nj_page_number(_ page: OpaquePointer?) -> Int64 {
    Handle<PageBox>.borrow(page).map { Int64($0.page.number) } ?? 0
}

@_cdecl("nj_page_count") @implementation
public func nj_page_count(_ page: OpaquePointer?) -> Int { Handle<PageBox>.borrow(page)?.page.count ?? 0 }

@_cdecl("nj_page_item") @implementation
public func nj_page_item(
    _ page: OpaquePointer?, _ index: Int, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    outLength?.pointee = 0
    guard let item = Handle<PageBox>.borrow(page)?.item(index) else { return nil }
    outLength?.pointee = item.length
    return item.text
}

@_cdecl("nj_page_response") @implementation
public func nj_page_response(_ page: OpaquePointer?) -> OpaquePointer? {
    Handle<PageBox>.borrow(page).map { Handle.lend($0.response) }
}

@_cdecl("nj_page_state") @implementation
public func nj_page_state(_ page: OpaquePointer?, _ consumed: Int) -> UnsafeMutablePointer<CChar>? {
    // A size_t above Int.max is negative here.
    Handle<PageBox>.borrow(page).flatMap { strdup($0.page.state(consumed: clampedSize(consumed))) }
}

@_cdecl("nj_page_retain") @implementation
public func nj_page_retain(_ page: OpaquePointer?) -> OpaquePointer? {
    Handle<PageBox>.borrow(page).map { Handle.make($0) }
}

@_cdecl("nj_page_release") @implementation
public func nj_page_release(_ page: OpaquePointer?) { _ = Handle<PageBox>.take(page) }
