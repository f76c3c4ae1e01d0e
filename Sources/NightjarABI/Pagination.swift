import CNightjar
import Glibc
import NIOCore
import Nightjar
import NightjarHandles
import Synchronization

/// How a list goes on, as C fills it step by step.
final class PaginationBox {
    var pagination: Pagination
    /// For the whole list.
    var timeout: Duration?

    init(_ pagination: Pagination) { self.pagination = pagination }
}

/// A list as C walks through it. Belongs to the thread that uses it, but for what `pager` itself allows.
final class PagerBox: @unchecked Sendable {
    let pager: Pager
    /// Of blocking calls: what the program has set to run in the midst of a load runs there, also of pages loaded ahead.
    private let queue = CompletionQueue()
    /// Where that runs now.
    private weak var serving: CompletionQueue?
    /// Whose items are being given, and the next of them.
    private var page: Page?
    private var next = 0
    /// The item that C borrows.
    private var lent: CString?

    init(_ pager: Pager) { self.pager = pager }

    deinit { close() }

    /// Ends what is loaded, and runs here what is left of it.
    func close() {
        pager.cancel()
        queue.close()
    }

    private func serve(on queue: CompletionQueue) {
        guard serving !== queue else { return }
        serving = queue
        pager.deliverCallbacks(on: queue)
    }

    /// - Returns: nil at the end.
    func nextItem() throws(NightjarError) -> (text: UnsafePointer<CChar>, length: Int)? {
        lent = nil
        while true {
            if let page, next < page.count {
                let text = page.text(next)
                let item = CString(String(buffer: text))
                next += 1
                lent = item
                return (item.pointer, text.readableBytes)
            }
            guard try nextPage() != nil else { return nil }
            next = 0
        }
    }

    /// Passes over what is left of the one before.
    func nextPage() throws(NightjarError) -> Page? {
        page = nil
        serve(on: queue)
        page = try pager.nextPageBlocking(on: queue)
        next = page?.count ?? 0
        return page
    }

    func startNextPage(
        on queue: CompletionQueue, _ finished: @escaping @Sendable (Result<Page?, NightjarError>) -> Void
    ) throws(NightjarError) {
        let place = (page, next, lent)
        passOver()
        serve(on: queue)
        do throws(NightjarError) {
            try pager.startNextPage(on: queue, finished)
        } catch {
            (page, next, lent) = place
            throw error
        }
    }

    func passOver() {
        (page, next) = (nil, 0)
        lent = nil
    }

    /// Where it is: behind the last item of a page that was taken one by one.
    var state: String { page?.state(consumed: next) ?? pager.state }
}

/// A page with its texts as C strings.
final class PageBox: Sendable {
    let page: Page
    let response: ResponseBox
    /// Items that C has asked for, by their places.
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
public func nj_pagination_new(_ style: nj_pagination_style) -> OpaquePointer? {
    let known: Pagination.Style? =
        switch style {
        case NJ_PAGINATION_GUESS: .guess
        case NJ_PAGINATION_PAGE: .page
        case NJ_PAGINATION_OFFSET: .offset
        case NJ_PAGINATION_CURSOR: .cursor
        case NJ_PAGINATION_LINK: .link
        case NJ_PAGINATION_NEXT: .next
        case NJ_PAGINATION_HEADER: .header
        case NJ_PAGINATION_CUSTOM: .custom
        default: nil
        }
    return known.map { Handle.make(PaginationBox(Pagination($0))) }
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

/// A pager of this process.
///
/// - Throws: `invalid_argument` for NULL; `forked` for the pager of a forked process's parent.
private func livePager(_ pager: OpaquePointer?) throws(NightjarError) -> PagerBox {
    let box = try required(Handle<PagerBox>.borrow(pager), "pager")
    guard !box.pager.isOfParent else {
        throw NightjarError(.forked, "this pager belongs to the parent process; make a new one after fork")
    }
    return box
}

// MARK: Walking

@_cdecl("nj_pager_new") @implementation
public func nj_pager_new(
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
                PagerBox(try Pager(client, made, pagination, resuming: state, timeout: options?.timeout)))
        }
    }
}

@_cdecl("nj_pager_free") @implementation
public func nj_pager_free(_ pager: OpaquePointer?) {
    Handle<PagerBox>.take(pager)?.close()
}

/// - Parameter found: nil for the end.
private func next<Found>(
    _ outError: UnsafeMutablePointer<OpaquePointer?>?, _ find: () throws(NightjarError) -> Found?,
    _ found: (Found) -> Void
) -> nj_next {
    let result: Found?? = reporting(to: outError, find)
    guard let result else { return NJ_NEXT_FAILED }
    guard let result else { return NJ_NEXT_END }
    found(result)
    return NJ_NEXT_FOUND
}

@_cdecl("nj_pager_next_item") @implementation
public func nj_pager_next_item(
    _ pager: OpaquePointer?, _ outJSON: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ outLength: UnsafeMutablePointer<Int>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_next {
    outJSON?.pointee = nil
    outLength?.pointee = 0
    return next(outError) { () throws(NightjarError) in
        try livePager(pager).nextItem()
    } _: { item in
        outJSON?.pointee = item.text
        outLength?.pointee = item.length
    }
}

@_cdecl("nj_pager_next_page") @implementation
public func nj_pager_next_page(
    _ pager: OpaquePointer?, _ outPage: UnsafeMutablePointer<OpaquePointer?>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_next {
    outPage?.pointee = nil
    return next(outError) { () throws(NightjarError) in
        _ = try required(outPage, "out_page")
        return try livePager(pager).nextPage()
    } _: { page in
        outPage?.pointee = Handle.make(PageBox(page))
    }
}

@_cdecl("nj_pager_start_next_page") @implementation
public func nj_pager_start_next_page(
    _ pager: OpaquePointer?, _ queue: OpaquePointer?, _ done: nj_next_page_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try livePager(pager)
        let queue = try requiredQueue(queue)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        try box.startNextPage(on: queue) { result in
            withExtendedLifetime(box) {
                switch result {
                case .success(nil): done(context.pointer, Handle.lend(box), nil, nil)
                case .success(let page?):
                    let lent = PageBox(page)
                    withExtendedLifetime(lent) { done(context.pointer, Handle.lend(box), Handle.lend(lent), nil) }
                case .failure(let error):
                    let lent = ErrorBox(error)
                    withExtendedLifetime(lent) { done(context.pointer, Handle.lend(box), nil, Handle.lend(lent)) }
                }
            }
        }
    }
}

@_cdecl("nj_pager_go_on") @implementation
public func nj_pager_go_on(_ pager: OpaquePointer?, _ url: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try livePager(pager)
        box.pager.goOn(url == nil ? .end : .url(try required(text(url), "url")))
    }
}

@_cdecl("nj_pager_go_on_query") @implementation
public func nj_pager_go_on_query(
    _ pager: OpaquePointer?, _ items: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try livePager(pager)
        guard var next = items else { return box.pager.goOn(.end) }
        var query: [(name: String, value: String)] = []
        while let name = next.pointee {
            guard let value = next.successor().pointee else {
                throw NightjarError(.invalidArgument, "the last of the items has a name and no value")
            }
            query.append((name: try required(text(name), "a name"), value: try required(text(value), "a value")))
            next += 2
        }
        box.pager.goOn(.query(query))
    }
}

@_cdecl("nj_pager_refresh") @implementation
public func nj_pager_refresh(_ pager: OpaquePointer?) {
    guard let box = Handle<PagerBox>.borrow(pager), !box.pager.isOfParent else { return }
    box.passOver()
    box.pager.refresh()
}

@_cdecl("nj_pager_cancel") @implementation
public func nj_pager_cancel(_ pager: OpaquePointer?) { Handle<PagerBox>.borrow(pager)?.pager.cancel() }

@_cdecl("nj_pager_state") @implementation
public func nj_pager_state(_ pager: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Handle<PagerBox>.borrow(pager).flatMap { $0.pager.isOfParent ? nil : strdup($0.state) }
}

@_cdecl("nj_pager_explanation") @implementation
public func nj_pager_explanation(_ pager: OpaquePointer?) -> UnsafeMutablePointer<CChar>? {
    Handle<PagerBox>.borrow(pager).flatMap { $0.pager.isOfParent ? nil : strdup($0.pager.explanation) }
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
    // A size_t beyond Int is negative here.
    Handle<PageBox>.borrow(page).flatMap { strdup($0.page.state(consumed: clampedSize(consumed))) }
}

@_cdecl("nj_page_retain") @implementation
public func nj_page_retain(_ page: OpaquePointer?) -> OpaquePointer? {
    Handle<PageBox>.borrow(page).map { Handle.make($0) }
}

@_cdecl("nj_page_free") @implementation
public func nj_page_free(_ page: OpaquePointer?) { _ = Handle<PageBox>.take(page) }
