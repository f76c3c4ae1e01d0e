import NIOCore

/// Walks through a list that a server gives in pages: decides what is asked for next, what is given and where it ends.
///
///     wantsPage ──▶ load ──answered──▶ give ──▶ (the next page is loaded meanwhile: prefetch)
///                     └────failed────▶ fail      the place stays: the next wantsPage loads the same page again
///
/// One load at a time, and pages in order. What ends a list, by style:
///
/// | style         | goes on                        | ends                                                            |
/// |---------------|--------------------------------|-----------------------------------------------------------------|
/// | all           |                                | `more` is false                                                 |
/// | page, offset  | by a number                    | an empty page; `total` items came; the last page by its number  |
/// | cursor, next  | text or number at `next`       | null, false, 0, empty text; absent (below)                      |
/// | link, header  | by the field                   | the field is absent (below) or has no next; an empty token      |
/// | custom        | as the caller says             | when the caller says so                                         |
///
/// What is *absent* after the first answer ends the list only where that is plausible, for a style that does not fit must
/// not look like a list of one page. Looked at in this order: the holder of the link is there (`links`, `_links`,
/// `paging`, ...; for link a Link field with other pages): end. Something else in the answer says that more follows:
/// error. The name is one that its API leaves out at the end (`nextPageToken` and its like): end. No items, as many as
/// `total`, fewer than the size asked for (by ``Pagination/size`` or a usual query item), or, where no size was asked
/// for, fewer than any server gives unasked: end. Else: error. In later answers absent is the end.
///
/// `more` that is true where the style has no next is an error in every answer: the list would be cut short. For page and
/// offset it is stronger than `total` and the last page.
///
/// A list that is null is an empty page. One that is absent is, too, where `next`, `more` or `total` is there: servers leave
/// out what is empty. Else it is an error.
///
/// A page whose items are those of an earlier page is an error where that tells that the server does not do what it is asked:
///
/// | the items                                       | the same once more is                                           |
/// |-------------------------------------------------|-----------------------------------------------------------------|
/// | have a key                                      | an error, key for key                                           |
/// | objects or lists, none as another               | an error, byte for byte                                         |
/// | three and more other values, none as another    | the same                                                        |
/// | any others: `[1, 1, 1]`, `[true]`               | an error where it goes on as the earlier page did, or behind    |
/// |                                                 | a hundred in a row of that kind; else a page like any other     |
///
/// In the last case a list of page or offset that ends by `total` or its last page, with no page that differs from the first,
/// is asked for one page more: a server that heeds the number has none (or answers that there is none), one that does not
/// gives the same again. Of page and offset, less than a full page that comes again at once is the end: the tail of a list that
/// grows in front while it is read.
///
/// The position must change from page to page, whatever the items are: a next page that was loaded before is an error. One
/// case is the end of the list: a page without items, after pages with items, that repeats its own cursor. The rule does not
/// apply to style custom, where the caller decides.
///
/// Pages without items are given, because their response can matter. Two kinds are not given: the empty page by which a list
/// of style page or offset ends, and a repeated tail. A server may send ``maximumEmptyPages`` pages without new items in a
/// row. The response 304 (Not Modified) to the first request is a page without items, and the list ends there.
///
/// Errors: `decoding` for an answer that is not as the options have it, `protocol` for a server that repeats itself or
/// leads elsewhere, `too_large` for the bounds.
public struct PageWalk: Sendable {
    public enum Action: Sendable {
        /// Begin to load this; ``PageWalk/answered(_:body:at:)`` or ``PageWalk/failed(_:)`` tells what came of it.
        case load(PageTarget)
        /// The load that is in flight is of no use any more: cancel it, and tell nothing of it.
        case cancelLoad
        /// To the one who asked first, as the next two.
        case give(WalkedPage)
        case end
        case fail(NightjarError)
    }

    private enum Frontier: Equatable {
        case at(PagePlace)
        /// The caller has not said how it goes on behind this page.
        case undecided(PagePlace, answered: RequestURL)
        case end
    }

    let options: Pagination
    let first: RequestURL
    let allowed: [Origin]
    /// What saved positions are made of.
    let origin: PageStateOrigin

    /// Behind the last page that was loaded.
    private var frontier: Frontier
    private var isLoading = false
    /// Pages asked for that are not given yet.
    private var asks = 0
    /// Loaded before they are asked for.
    private var ready: [WalkedPage] = []
    /// Found while nobody asked; the next who does hears of it.
    private var held: NightjarError?
    private var wasAsked = false

    private(set) var plan: PagePlan?
    private var history = PageHistory()
    /// The page at the frontier is behind the end of the list, if the server heeds what page it is asked for.
    private var isBeyond = false
    private var given: SavedPlace

    /// What was found out and not told, as one sentence; empty where nothing was.
    public private(set) var explanation = ""

    /// - Parameters:
    ///   - first: the URL of the first page, its query and all.
    ///   - method: of all requests.
    ///   - state: where to go on, from ``state`` or ``WalkedPage/state(consumed:)`` of a walk with the same first request.
    /// - Throws: `invalid_argument` for options that make no sense, and for a state that is none of this list.
    public init(
        _ options: Pagination, first: RequestURL, method: Method = .get, resuming state: String? = nil
    ) throws(NightjarError) {
        try options.check()
        self.options = options
        self.first = first
        allowed = try options.origins()
        origin = PageStateOrigin(first, method)
        given = SavedPlace(place: PagePlace(), skip: 0, plan: nil)
        frontier = .at(PagePlace())
        guard let state else { return }
        given = try origin.read(state, options)
        plan = given.plan
        frontier = given.place.position == .end ? .end : .at(given.place)
    }

    // MARK: Events

    /// One page more is wanted.
    public mutating func wantsPage() -> [Action] {
        asks += 1
        wasAsked = true
        return pump()
    }

    /// The answer to what was to be loaded.
    ///
    /// - Parameters:
    ///   - status: of the response, which the call accepted.
    ///   - url: the one that answered.
    public mutating func answered(
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
            guard asks > 0 else {
                held = error
                return []
            }
            asks -= 1
            wasAsked = asks > 0
            return [.fail(error)] + pump()
        }
        return pump()
    }

    /// The load has failed. Whoever asks next has the same page loaded again.
    public mutating func failed(_ error: NightjarError) -> [Action] {
        guard isLoading else { return [] }
        isLoading = false
        if isBeyond, let status = error.status, PageWalk.saysThereIsNone.contains(status) {
            isBeyond = false
            frontier = .end
            return pump()
        }
        // Nobody waits for what is loaded ahead: whoever comes to want it has it tried again.
        guard asks > 0 else {
            wasAsked = false
            return []
        }
        asks -= 1
        wasAsked = asks > 0
        return [.fail(error)] + pump()
    }

    /// One who asked wants nothing any more. When nobody does, the load in flight is cancelled: whoever asks next has the
    /// same page loaded again.
    public mutating func withdraw() -> [Action] {
        asks = max(0, asks - 1)
        guard asks == 0 else { return [] }
        wasAsked = false
        guard isLoading else { return [] }
        isLoading = false
        return [.cancelLoad]
    }

    /// The caller has decided, in style custom, how it goes on behind the page given last.
    ///
    /// - Throws: `invalid_argument` where there is nothing to decide; `protocol` for a URL of another origin.
    public mutating func goOn(_ next: NextPage) throws(NightjarError) -> [Action] {
        guard case .undecided(let place, let answered) = frontier else {
            throw NightjarError(
                .invalidArgument,
                options.style == .custom
                    ? "how the list goes on is said once, after each page" : "style custom alone is told how it goes on"
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
            let url = try followed(text, from: answered)
            try check(url)
            behind.position = .url(url)
            frontier = .at(behind)
        }
        given = SavedPlace(place: behind, skip: 0, plan: plan)
        return pump()
    }

    /// Begins anew with the first page: what was found out, met and loaded ahead is forgotten.
    public mutating func refresh() -> [Action] {
        let cancels = isLoading
        isLoading = false
        ready = []
        held = nil
        plan = nil
        history = PageHistory()
        isBeyond = false
        explanation = ""
        wasAsked = asks > 0
        frontier = .at(PagePlace())
        given = SavedPlace(place: PagePlace(), skip: 0, plan: nil)
        return (cancels ? [.cancelLoad] : []) + pump()
    }

    /// Behind the page given last, for ``init(_:first:method:resuming:)``. No secret is in it, and no item that was given is
    /// remembered by it.
    public var state: String { position.state }

    /// The same, to be made a text when that is wanted.
    public var position: SavedPosition { SavedPosition(saved: given, origin: origin) }

    /// Of the page that is being loaded; nil where none is.
    package var numberInFlight: Int? {
        guard isLoading, case .at(let place) = frontier else { return nil }
        return place.number
    }

    /// Whether a page waits for who asks.
    package func holds(_ number: Int) -> Bool { ready.contains { $0.number == number } }

    // MARK: Deciding

    private mutating func pump() -> [Action] {
        var actions: [Action] = []
        while asks > 0 {
            if !ready.isEmpty {
                asks -= 1
                let page = ready.removeFirst()
                given = page.after ?? page.saved(consumed: page.count)
                actions.append(.give(page))
            } else if let error = held {
                asks -= 1
                held = nil
                wasAsked = asks > 0
                actions.append(.fail(error))
            } else if isLoading {
                return actions
            } else {
                switch frontier {
                case .end:
                    asks -= 1
                    given.place.position = .end
                    actions.append(.end)
                case .undecided(let place, _):
                    asks -= 1
                    actions.append(
                        .fail(
                            NightjarError(
                                .invalidArgument,
                                "page \(place.number) was given and nobody has said how the list goes on; "
                                    + "say so before asking for the next")))
                case .at(let place):
                    do throws(NightjarError) {
                        actions.append(try load(place))
                        return actions
                    } catch {
                        asks -= 1
                        actions.append(.fail(error))
                    }
                }
            }
        }
        // What cannot be asked for is told when it is.
        if wasAsked, !isLoading, held == nil, ready.count < options.prefetch, case .at(let place) = frontier,
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
                "the list has more than \(options.maximumPages) pages, with \(history.itemCount) items so far; "
                    + "raise max_pages to continue")
        }
        let target = try target(of: place.position)
        isLoading = true
        return .load(target)
    }

    private mutating func take(
        _ bytes: UnsafeRawBufferPointer, _ headers: Headers, at url: RequestURL, _ place: PagePlace
    ) throws(NightjarError) {
        let isBlank = bytes.allSatisfy(ASCII.isWhitespace)
        if !isBlank {
            do throws(NightjarError) {
                try JSONValue.check(bytes)
            } catch {
                throw NightjarError(.decoding, "page \(place.number) is \(error.message)")
            }
        }
        let ranges = JSONRanges(bytes)
        let answer = PageAnswer(
            headers: headers, ranges: ranges, document: isBlank ? nil : ranges.document, number: place.number)
        var guessed: [String] = []
        let plan: PagePlan
        if let known = self.plan {
            plan = known
        } else {
            (plan, guessed) = try PagePlan.make(options, answer, first)
        }
        let reading = PageReading(options: options, plan: plan, answer: answer, place: place, first: first)
        let elements = try reading.elements()
        let print = try reading.prints(elements)
        let meeting = history.meeting(print.whole, of: elements.count, countsPlaces: reading.countsPlaces)
        let step = try step(from: reading, elements, meeting, at: url)
        let kept =
            if meeting.isTail { [Int]() } else if options.key != nil {
                history.unmet(print.keys, from: place.skip)
            } else {
                Array(min(place.skip, elements.count)..<elements.count)
            }
        try checkBounds(kept.count, ends: step.next == .end)
        history.note(print, of: elements.count, kept: kept.count, isMet: meeting.isMet)
        isBeyond = step.asksBeyond
        if answer.document != nil { self.plan = plan }
        if !guessed.isEmpty { explanation = "guessed: " + PageWalk.sentence(guessed) }
        // A page that only ends a numbered list has nothing to give.
        let onlyEnds =
            (elements.isEmpty || meeting.isTail) && reading.countsPlaces && step.next == .end && place.number > 1
        if !onlyEnds {
            ready.append(
                WalkedPage(
                    number: place.number, items: kept.map { elements[$0] }, indices: kept, count: elements.count,
                    place: SavedPlace(place: place, skip: place.skip, plan: plan),
                    after: step.next == nil ? nil : SavedPlace(place: step.place, skip: 0, plan: plan), origin: origin))
        }
        if step.next == nil {
            frontier = .undecided(place, answered: url)
        } else {
            frontier = step.place.position == .end ? .end : .at(step.place)
        }
    }

    /// From one page to the next.
    private struct Step {
        /// Nil: the caller decides.
        var next: PageReading.Next?
        /// Of the next page; its position is set where `next` is.
        var place: PagePlace
        /// The next page is behind the end of the list, if the server uses the number.
        var asksBeyond = false
    }

    /// - Throws: `protocol` for a list that repeats itself, and for a next page that was loaded before.
    private mutating func step(
        from reading: PageReading, _ elements: [Range<Int>], _ meeting: PageHistory.Meeting, at url: RequestURL
    ) throws(NightjarError) -> Step {
        let place = reading.place
        func repeated() -> NightjarError { reading.repeated(ofPrevious: meeting.isPrevious) }
        if meeting.isMet, isBeyond || reading.areTelling(elements) { throw repeated() }
        var step = Step(next: meeting.isTail ? .end : try reading.next(elements), place: place.next)
        let metInARow = history.metInARow + 1
        if meeting.isMet, metInARow > PageWalk.maximumMetInARow { throw reading.repeated(inARow: metInARow) }
        if meeting.isMet, step.next == .end, metInARow == history.filledPages,
            let beyond = try reading.beyond(elements)
        {
            (step.next, step.asksBeyond) = (beyond, true)
        }
        step.place.seen += elements.count
        guard let next = step.next else { return step }
        step.place.position = try position(next, from: url)
        let current = place.position == .first ? PagePosition.url(first) : place.position
        guard history.isVisited(step.place.position, after: current) else { return step }
        guard try reading.endsByRepeating(step.place.position, elements) else {
            throw meeting.isMet ? repeated() : reading.unmoved(isSame: step.place.position == current)
        }
        step.next = .end
        step.place.position = .end
        return step
    }

    /// - Throws: `too_large` for more items than ``Pagination/maximumItems``; `protocol` for too many pages without any.
    private func checkBounds(_ kept: Int, ends: Bool) throws(NightjarError) {
        guard history.itemCount + kept <= options.maximumItems else {
            throw NightjarError(
                .tooLarge,
                "the list has more than \(options.maximumItems) items, and \(history.itemCount) were given; "
                    + "raise max_items to continue")
        }
        guard kept > 0 || history.emptyPages < PageWalk.maximumEmptyPages || ends else {
            throw NightjarError(
                .protocol,
                "\(history.emptyPages + 1) pages in a row brought no item, and the server says that more follow")
        }
    }

    /// The response 304 to a condition that the caller set: the list is not modified.
    private mutating func takeUnmodified(_ place: PagePlace) throws(NightjarError) {
        guard place.number == 1 else {
            throw NightjarError(
                .decoding,
                "page \(place.number) has status 304 and no content; send conditional header fields only for lists of one "
                    + "page")
        }
        var behind = place.next
        behind.position = .end
        let saved = SavedPlace(place: place, skip: place.skip, plan: nil)
        ready.append(
            WalkedPage(
                number: 1, items: [], indices: [], count: 0, place: saved,
                after: SavedPlace(place: behind, skip: 0, plan: nil), origin: origin))
        frontier = .end
    }
}
