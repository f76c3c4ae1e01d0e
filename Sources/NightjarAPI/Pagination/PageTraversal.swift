import NIOCore

/// Iterates over the pages of a list: decides which page to request next, what to deliver and where the list ends.
///
///     needsPage ──▶ load ──received──▶ deliver ──▶ (the next page is loaded in advance: prefetch)
///                     └────failed────▶ fail      the position is kept: the next needsPage loads the same page again
///
/// Pages are loaded one at a time and delivered in order. The end of the list depends on the style:
///
/// | style         | next page                      | ends                                                            |
/// |---------------|--------------------------------|-----------------------------------------------------------------|
/// | all           |                                | `more` is false                                                 |
/// | page, offset  | a number                       | an empty page; `total` items received; the last page number     |
/// | cursor, next  | a string or number at `next`   | null, false, 0, empty string; absent (below)                    |
/// | link, header  | the header field               | the field is absent (below) or has no next; an empty token      |
/// | custom        | the caller                     | the caller                                                      |
///
/// An *absent* value in the first response ends the list only if that is plausible, because a style that does not fit
/// must not look like a list of one page. The checks, in order:
///
/// 1. The object that would contain the link is present (`links`, `_links`, `paging`, ...; for link, a Link field with
///    other pages): end.
/// 2. Another part of the response indicates that more items follow: error.
/// 3. Known APIs omit members of this name at the end (such as `nextPageToken`): end.
/// 4. The page has no items, at least `total` items, or fewer items than the requested size (``Pagination/size`` or a
///    common query item): end. If no size was requested, the smallest default of known servers applies.
/// 5. Otherwise: error.
///
/// In later responses an absent value is the end.
///
/// A true `more` in a response without a next page is an error, because the list would be truncated. For page and
/// offset, a true `more` takes precedence over `total` and the last page number.
///
/// A list that is null is an empty page. An absent list is an empty page if `next`, `more` or `total` is present,
/// because servers omit empty values. Otherwise an absent list is an error.
///
/// A page that repeats the items of an earlier page is an error if the repetition shows that the server ignores the
/// request:
///
/// | items                                           | repeated                                                       |
/// |-------------------------------------------------|----------------------------------------------------------------|
/// | with a key                                      | an error, key for key                                          |
/// | objects or arrays, all different                | an error, byte for byte                                        |
/// | three or more scalars, all different            | an error, byte for byte                                        |
/// | others: `[1, 1, 1]`, `[true]`                   | an error if its next page is that of the earlier page, or      |
/// |                                                 | after a hundred such pages in a row; otherwise a normal page   |
///
/// In the last case, one more page is requested if the style is page or offset, the list ends by `total` or its last
/// page number, and no page differs from the first. A server that uses the number sends an empty page or an error
/// status. A server that ignores the number sends the same page again. For page and offset, a partial page that is
/// repeated immediately is the end, because that page is the tail of a list that grows at the front while it is read.
///
/// The position must change from page to page, regardless of the items: a next page that was loaded before is an error.
/// One exception is the end of a list: an empty page without a true `more`, after pages with items, that repeats its
/// own position. The rule does not apply to style custom, where the caller decides.
///
/// Empty pages are delivered, because their response may matter, with two exceptions: an empty page after the first
/// that ends a list of style page or offset, and a repeated tail. A server may send ``maximumEmptyPages`` consecutive
/// pages without new items. A 304 (Not Modified) response to the first request is an empty page and, except in style
/// custom, ends the list.
///
/// Errors: `decoding` if a response does not match the options, `protocol` if a server repeats itself, sends too many
/// pages without new items or names an invalid URL or a forbidden origin, `too_large` if the list has too many pages or
/// items.
package struct PageTraversal: Sendable {
    package enum Action: Sendable {
        /// Start to load this page. Report the result with ``PageTraversal/received(_:status:body:at:)`` or
        /// ``PageTraversal/failed(_:)``.
        case load(PageTarget)
        /// Cancel the load in flight and do not report its result.
        case cancelLoad
        /// Complete the oldest pending request for a page with this page. ``end`` and ``fail(_:)`` complete the oldest
        /// request too.
        case deliver(LoadedPage)
        case end
        case fail(NightjarError)
    }

    enum Frontier: Equatable {
        case at(PagePlace)
        /// The caller has not yet specified the page after this one.
        case awaitingNext(PagePlace, responseURL: RequestURL)
        case end
    }

    let options: Pagination
    let first: RequestURL
    let allowed: [Origin]
    /// Serializes saved positions.
    let origin: PageStateOrigin

    /// The position after the last loaded page.
    var frontier: Frontier
    private var isLoading = false
    /// The number of pages that were requested and not yet delivered.
    private var waiterCount = 0
    /// Pages loaded in advance.
    var ready: [LoadedPage] = []
    /// An error that occurred while no page was requested. The first request after the pages in ``ready`` fails with
    /// this error.
    private var pendingError: NightjarError?
    private var wasRequested = false

    var plan: PagePlan?
    var history = PageHistory()
    /// True if the page at the frontier is requested only to check that the server uses the requested number.
    var isProbingBeyondTotal = false
    private var given: SavedPlace

    /// The guessed pagination, as one sentence. Empty if nothing was guessed.
    package internal(set) var explanation = ""

    /// - Parameters:
    ///   - first: the URL of the first page, including its query.
    ///   - method: the method of all requests.
    ///   - body: the JSON body of the first request, for ``Pagination/bodyParameter``.
    ///   - state: the position to resume at, from ``state`` or ``LoadedPage/state(consumed:)`` of a paginator with the
    ///     same first request.
    /// - Throws: `invalid_argument` if options are invalid, or if the state is invalid or does not belong to this list.
    package init(
        _ options: Pagination, first: RequestURL, method: Method = .get, body: ByteBuffer? = nil,
        resuming state: String? = nil
    ) throws(NightjarError) {
        let options = try options.withStyleOfNextHeader()
        try options.check()
        self.options = options
        self.first = first
        allowed = try options.origins()
        origin = PageStateOrigin(first, method, body: options.bodyParameter == nil ? nil : body)
        given = SavedPlace(place: PagePlace(), skip: 0, plan: nil)
        frontier = .at(PagePlace())
        guard let state else { return }
        given = try origin.read(state, options)
        plan = given.plan
        frontier = given.place.position == .end ? .end : .at(given.place)
    }

    // MARK: Events

    /// Requests one more page.
    package mutating func needsPage() -> [Action] {
        waiterCount += 1
        wasRequested = true
        return pump()
    }

    /// Reports the response of the current load.
    ///
    /// - Parameters:
    ///   - status: the status of the response. The caller has already rejected statuses that are errors.
    ///   - url: the URL of the response, after redirects.
    package mutating func received(
        _ headers: Headers, status: Int = 200, body: ByteBuffer, at url: RequestURL
    ) -> [Action] {
        guard isLoading, case .at(let place) = frontier else { return [] }
        isLoading = false
        do throws(NightjarError) {
            if status == 304, options.style != .custom {
                try takeUnmodified(place)
            } else {
                try body.withUnsafeReadableBytes { bytes in
                    Result { () throws(NightjarError) in try take(bytes, headers, at: url, place) }
                }.get()
            }
        } catch {
            guard waiterCount > 0 else {
                pendingError = error
                return []
            }
            waiterCount -= 1
            wasRequested = waiterCount > 0
            return [.fail(error)] + pump()
        }
        return pump()
    }

    /// Reports that the load has failed. The next request for a page loads the same page again. If the load was a check
    /// beyond the last page, a status such as 404 ends the list instead.
    package mutating func failed(_ error: NightjarError) -> [Action] {
        guard isLoading else { return [] }
        isLoading = false
        if isProbingBeyondTotal, let status = error.status, PageTraversal.indicatesNone.contains(status) {
            isProbingBeyondTotal = false
            frontier = .end
            return pump()
        }
        // A page that was loaded in advance failed. The page is loaded again when it is requested.
        guard waiterCount > 0 else {
            wasRequested = false
            return []
        }
        waiterCount -= 1
        wasRequested = waiterCount > 0
        return [.fail(error)] + pump()
    }

    /// Withdraws one request for a page. If none is left, the load in flight is cancelled. The next request loads the
    /// same page again.
    package mutating func withdraw() -> [Action] {
        waiterCount = max(0, waiterCount - 1)
        guard waiterCount == 0 else { return [] }
        wasRequested = false
        guard isLoading else { return [] }
        isLoading = false
        return [.cancelLoad]
    }

    /// Sets the page after the last delivered page, in style custom.
    ///
    /// - Throws: `invalid_argument` if the style is not custom, no page has been loaded or the next page is already
    ///   set; `protocol` if the URL is invalid, its origin is not allowed, or only the first page uses TLS.
    package mutating func setNext(_ next: Pagination.NextPage) throws(NightjarError) -> [Action] {
        guard case .awaitingNext(let place, let responseURL) = frontier else {
            throw NightjarError(
                .invalidArgument,
                options.style == .custom
                    ? "the next page can be set only after a page was delivered, and only once"
                    : "only style custom accepts a next page"
            )
        }
        var behind = place.next
        switch next {
        case .end:
            behind.position = .end
            frontier = .end
        case .query(let items):
            behind.position = .query(items.map { PagePosition.Item(name: $0.name, value: $0.value) })
            frontier = .at(behind)
        case .url(let text):
            let url = try followed(text, from: responseURL)
            try check(url)
            behind.position = .url(url)
            frontier = .at(behind)
        }
        given = SavedPlace(place: behind, skip: 0, plan: plan)
        return pump()
    }

    /// Restarts at the first page. Discards the plan, the history and the pages loaded in advance.
    package mutating func refresh() -> [Action] {
        let cancels = isLoading
        isLoading = false
        ready = []
        pendingError = nil
        plan = nil
        history = PageHistory()
        isProbingBeyondTotal = false
        explanation = ""
        wasRequested = waiterCount > 0
        frontier = .at(PagePlace())
        given = SavedPlace(place: PagePlace(), skip: 0, plan: nil)
        return (cancels ? [.cancelLoad] : []) + pump()
    }

    /// The position after the last delivered page, for ``init(_:first:method:resuming:)``. It contains no secrets and
    /// does not record which items were delivered.
    package var state: String { position.state }

    /// The position of ``state``, serialized on demand.
    package var position: SavedPosition { SavedPosition(saved: given, origin: origin) }

    /// The number of the page that is being loaded. Nil if no load is in flight.
    package var numberInFlight: Int? {
        guard isLoading, case .at(let place) = frontier else { return nil }
        return place.number
    }

    /// Returns true if page `number` is loaded and not yet delivered.
    package func holds(_ number: Int) -> Bool { ready.contains { $0.number == number } }

    // MARK: Decisions

    private mutating func pump() -> [Action] {
        var actions: [Action] = []
        while waiterCount > 0 {
            if !ready.isEmpty {
                waiterCount -= 1
                let page = ready.removeFirst()
                given = page.after ?? page.saved(consumed: page.count)
                actions.append(.deliver(page))
            } else if let error = pendingError {
                waiterCount -= 1
                pendingError = nil
                wasRequested = waiterCount > 0
                actions.append(.fail(error))
            } else if isLoading {
                return actions
            } else {
                switch frontier {
                case .end:
                    waiterCount -= 1
                    given.place.position = .end
                    actions.append(.end)
                case .awaitingNext(let place, _):
                    waiterCount -= 1
                    actions.append(
                        .fail(
                            NightjarError(
                                .invalidArgument,
                                "page \(place.number) was delivered, but its next page has not been set; "
                                    + "set it before requesting another page")))
                case .at(let place):
                    do throws(NightjarError) {
                        actions.append(try load(place))
                        return actions
                    } catch {
                        waiterCount -= 1
                        actions.append(.fail(error))
                    }
                }
            }
        }
        // When prefetching, ignore an error. The error occurs again when the caller requests the page.
        if wasRequested, !isLoading, pendingError == nil, ready.count < options.prefetch,
            case .at(let place) = frontier,
            let action = try? load(place)
        {
            actions.append(action)
        }
        return actions
    }

    private mutating func load(_ place: PagePlace) throws(NightjarError) -> Action {
        guard place.number <= options.maximumPages else {
            throw NightjarError(
                .tooLarge,
                "the list has more than \(options.maximumPages) pages (\(history.itemCount) items so far); "
                    + "raise max_pages to continue")
        }
        let target = try target(of: place.position)
        isLoading = true
        return .load(target)
    }
}
