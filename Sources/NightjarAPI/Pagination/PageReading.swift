/// Extracts the items and the next page from one response, as the plan specifies. ``PageTraversal`` lists the rules.
struct PageReading {
    enum Next: Equatable {
        case position(PagePosition)
        /// A URL reference, not yet resolved.
        case url(String)
        case end
    }

    let options: Pagination
    let plan: PagePlan
    let response: PageResponse
    let place: PagePlace
    let first: RequestURL

    /// The maximum number of elements per page. Servers send at most about ten thousand. Each element takes 16 bytes.
    static let maximumElements = 1 << 20

    // MARK: Items

    func elements() throws(NightjarError) -> [Range<Int>] {
        guard response.document != nil else { return [] }
        let list = response.find(plan.items)
        if isEmptyList(list) { return [] }
        guard let list, let elements = response.ranges.elements(of: list, limit: PageReading.maximumElements + 1) else {
            let pointer = plan.items.tokens.isEmpty ? "at its root" : "at \(quoted(plan.items.description))"
            throw NightjarError(
                .decoding,
                "page \(place.number) has \(response.typeName(list)) \(pointer), where its list was expected; "
                    + "set items to the location of the list")
        }
        guard elements.count <= PageReading.maximumElements else {
            throw NightjarError(
                .tooLarge,
                "page \(place.number) has more than \(PageReading.maximumElements) items; request smaller pages")
        }
        guard let item = options.item else { return elements }
        var items: [Range<Int>] = []
        items.reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() {
            guard let range = response.ranges.value(at: item, in: element) else {
                throw NightjarError(
                    .decoding,
                    "element \(index) of page \(place.number) has nothing at \(quoted(item.description)), where its item "
                        + "was expected; check the option item")
            }
            items.append(range)
        }
        return items
    }

    /// Returns true if the server wrote an empty list as null (as Go does) or omitted the list (as proto3's JSON does).
    /// False for the first response if the location was guessed, because only the location of an array is guessed.
    private func isEmptyList(_ list: Range<Int>?) -> Bool {
        guard let list else {
            return [plan.next, plan.more, plan.total].contains { $0.flatMap(response.find) != nil }
        }
        return response.ranges.first(list) == UInt8(ascii: "n")
    }

    /// Returns the fingerprint of each item's key, and one fingerprint of all keys together. Without a key, `keys` is
    /// empty, and `whole` is the fingerprint of all items.
    func fingerprints(
        _ elements: [Range<Int>]
    ) throws(NightjarError) -> (keys: [FingerprintSet.Fingerprint], whole: FingerprintSet.Fingerprint) {
        var keys: [FingerprintSet.Fingerprint] = []
        var whole = FingerprintSet.Fold()
        for (index, element) in elements.enumerated() {
            guard let pointer = options.key else {
                whole.add(response.ranges.bytes(of: element))
                continue
            }
            let key = try key(pointer, of: element, at: index)
            keys.append(key)
            whole.add(key)
        }
        return (keys, whole.result)
    }

    private func key(
        _ pointer: JSONPointer, of element: Range<Int>, at index: Int
    ) throws(NightjarError) -> FingerprintSet.Fingerprint {
        let value = response.ranges.value(at: pointer, in: element)
        guard let value, let kind = response.ranges.first(value), !"{[n".utf8.contains(kind) else {
            throw NightjarError(
                .decoding,
                "item \(index) of page \(place.number) has \(response.typeName(value)) at "
                    + "\(quoted(pointer.description)), where its key was expected")
        }
        // Equal strings with different escapes must have the same fingerprint.
        if kind == UInt8(ascii: "\""), response.ranges.bytes(of: value).contains(UInt8(ascii: "\\")),
            let text = response.ranges.text(of: value)
        {
            return FingerprintSet.Fingerprint(Array("\"\(text)\"".utf8))
        }
        return FingerprintSet.Fingerprint(response.ranges.bytes(of: value))
    }

    var countsPlaces: Bool { plan.style == .page || plan.style == .offset }

    /// Returns true if the items are so distinctive that a second page with the same items must be a repetition of this
    /// page.
    func areDistinctive(_ elements: [Range<Int>]) -> Bool {
        guard options.key == nil else { return true }
        var seenItems = FingerprintSet()
        for element in elements {
            guard seenItems.insert(FingerprintSet.Fingerprint(response.ranges.bytes(of: element))) else { return false }
        }
        return elements.count >= PageReading.minimumDistinctive
            || elements.allSatisfy { response.ranges.first($0).map("{[".utf8.contains) ?? false }
    }

    /// The minimum number of distinct scalar values that make a page distinctive. Fewer may repeat by chance.
    private static let minimumDistinctive = 3

    /// Returns true if this page ends the list by repeating its own position as the next position, as in some feeds.
    /// The page must have no items and no true flag for more items, and earlier pages must have had items.
    func endsByRepeating(_ next: PagePosition, _ elements: [Range<Int>]) throws(NightjarError) -> Bool {
        guard elements.isEmpty, place.seen > 0, next == place.position else { return false }
        return try moreFollows() != true
    }

    /// Returns the error for a page whose next page was loaded before.
    ///
    /// - Parameter isSame: true if the next page is this page.
    func noProgress(isSame: Bool) -> NightjarError {
        let page = isSame ? "itself" : "an earlier page"
        let why =
            switch plan.style {
            case .page, .offset:
                "the server ignores \(selector) or counts wrongly; set param, total or more"
            case .cursor:
                "the server ignores \(selector) or repeats its cursors; set "
                    + (options.bodyParameter == nil
                        ? "param to the query item that takes the cursor"
                        : "body_param to the place in the body that takes the cursor")
            case .header where takesToken:
                "the server ignores the token or repeats it; set param or request_header to the item or field that "
                    + "takes the token"
            default: "the server returns to an earlier position"
            }
        return NightjarError(
            .protocol, "page \(place.number) names \(page) as the next page, so the list would never end: \(why)")
    }

    /// The part of the request that selects the page, for messages.
    private var selector: String {
        if let pointer = options.bodyParameter { return "\(quoted(pointer.description)) of the body" }
        return "the query item \(quoted(plan.parameter))"
    }

    /// Whether the requests for further pages have the token of style header. Otherwise, the token is a URL.
    private var takesToken: Bool {
        options.requestHeader != nil || options.bodyParameter != nil || !plan.parameter.isEmpty
    }

    func repeated(ofPrevious isPrevious: Bool) -> NightjarError {
        repeated("page \(place.number) has the items of \(isPrevious ? "the previous page" : "an earlier page")")
    }

    func repeated(inARow count: Int) -> NightjarError {
        repeated("the \(count) pages up to page \(place.number) have the items of earlier pages")
    }

    private func repeated(_ what: String) -> NightjarError {
        let how = options.key == nil ? "byte for byte" : "key for key"
        let why =
            switch plan.style {
            case .page, .offset:
                "the server ignores \(selector), or starts again after its last page; set param, total or more"
            default: "the server returns to an earlier position"
            }
        return NightjarError(.protocol, "\(what), \(how): \(why)")
    }

    // MARK: The next page

    /// Returns the next page, or nil if the caller must set it (style custom).
    func next(_ elements: [Range<Int>]) throws(NightjarError) -> Next? {
        let more = try moreFollows()
        if more == false { return .end }
        let count = elements.count
        switch plan.style {
        case .guess: return .end
        case .custom: return nil
        case .page:
            if count == 0, more != true { return .end }
            let current = currentPage
            let last = plan.last.flatMap { response.count(response.find($0)) }
            if more != true, let last, current >= last { return .end }
            if let total = try total(), more != true, place.seen + count >= total { return .end }
            let (number, overflow) = current.addingReportingOverflow(1)
            return overflow ? try end(more, "a number for the next page") : .position(.page(number))
        case .offset:
            if count == 0, more != true { return .end }
            let (offset, overflow) = currentOffset.addingReportingOverflow(count)
            if let total = try total(), more != true, offset >= total { return .end }
            return overflow ? try end(more, "a number for the next page") : .position(.offset(offset))
        case .cursor: return try afterCursor(elements, more)
        case .next:
            guard let pointer = plan.next else { return try absent(count, more, "a URL of the next page") }
            switch try response.seek(pointer, "the URL of the next page") {
            case .value(let text): return .url(text)
            case .ended: return try end(more, "the URL of the next page at \(quoted(pointer.description))")
            case .absent: return try absent(count, more, "the URL of the next page")
            }
        case .link:
            if let link = LinkField.next(in: response.links) { return .url(link.target) }
            let what = "a Link field with rel=next"
            return LinkField.containsPageLinks(response.links) ? try end(more, what) : try absent(count, more, what)
        case .header:
            let name = plan.header
            guard let token = response.headers[name] else {
                return try absent(count, more, "a header field \(quoted(name))")
            }
            guard !token.isEmpty else { return try end(more, "a token in its header field \(quoted(name))") }
            if takesToken { return .position(.token(token)) }
            guard options.nextHeader != nil || PageHints.isURL(token) else {
                throw NightjarError(
                    .decoding,
                    "page \(place.number) has no URL in its header field \(quoted(name)); set param or "
                        + "request_header to the item or field that sends the value back, or next_header if the value "
                        + "is a relative URL")
            }
            return .url(token)
        }
    }

    /// Returns the position after this page, although the list ends by the counts in the response. Returns nil if the
    /// style does not count positions, or if the response has a flag for more items.
    func positionBeyondTotal(_ elements: [Range<Int>]) throws(NightjarError) -> Next? {
        guard try moreFollows() == nil else { return nil }
        let (start, step) = plan.style == .page ? (currentPage, 1) : (currentOffset, elements.count)
        let (number, overflow) = start.addingReportingOverflow(step)
        guard countsPlaces, !overflow else { return nil }
        return .position(plan.style == .page ? .page(number) : .offset(number))
    }

    private func afterCursor(_ elements: [Range<Int>], _ more: Bool?) throws(NightjarError) -> Next {
        if let pointer = plan.lastItem {
            guard let last = elements.last else { return try end(more, "an item to continue after") }
            guard more == true else { return try absent(elements.count, more, "a flag for more items") }
            guard let text = cursor(pointer, in: last) else {
                return try end(more, "a cursor at \(quoted(pointer.description)) of its last item")
            }
            return .position(.cursor(text))
        }
        guard let pointer = plan.next else { return try absent(elements.count, more, "a cursor") }
        switch try response.seek(pointer, "a cursor") {
        case .value(let text): return .position(.cursor(text))
        case .ended: return try end(more, "a cursor at \(quoted(pointer.description))")
        case .absent: return try absent(elements.count, more, "a cursor")
        }
    }

    private func cursor(_ pointer: JSONPointer, in element: Range<Int>) -> String? {
        guard let value = response.ranges.value(at: pointer, in: element), let kind = response.ranges.first(value),
            !"{[ntf".utf8.contains(kind)
        else { return nil }
        let text = response.ranges.text(of: value) ?? String(decoding: response.ranges.bytes(of: value), as: UTF8.self)
        return text.isEmpty ? nil : text
    }

    /// Returns the end of the list, because the response does not specify a next page.
    ///
    /// - Throws: `decoding` if the response indicates that more items follow, because a truncated list must not look
    ///   complete.
    private func end(_ more: Bool?, _ lack: String) throws(NightjarError) -> Next {
        guard more == true else { return .end }
        let flag = plan.more.map { " at \(quoted($0.description))" } ?? ""
        throw NightjarError(
            .decoding,
            "page \(place.number) says\(flag) that more items follow, but lacks \(lack); the list cannot continue "
                + "with style \(plan.style.rawValue)")
    }

    /// Handles a response without the value that specifies the next page. Returns the end of the list if the checks of
    /// ``PageTraversal`` allow it, or throws.
    private func absent(_ count: Int, _ more: Bool?, _ what: String) throws(NightjarError) -> Next {
        if more == true {
            return try end(more, what + (plan.next.map { " at \(quoted($0.description))" } ?? ""))
        }
        guard place.position == .first else { return .end }
        let hints = PageHints(response: response, reached: PageHints.reached(first, options, count))
        let omission = plan.next.map(hints.omission) ?? (hasParent: false, isKnown: false)
        if omission.hasParent { return .end }
        let place = plan.next.map { " at \(quoted($0.description))" } ?? ""
        let name = plan.style.rawValue
        if let reason = hints.continuationHint(count: count) {
            throw NightjarError(
                .decoding, "style \(name) does not fit: page 1 lacks \(what)\(place), but \(reason)")
        }
        if omission.isKnown || count == 0 { return .end }
        if let total = try total(), count >= total { return .end }
        if count < PageHints.requestedSize(first, options) ?? PageHints.smallestPage { return .end }
        throw NightjarError(
            .decoding,
            "style \(name) does not fit: page 1 lacks \(what)\(place), and nothing indicates that its \(count) "
                + "items are the whole list; set style, or set size, total or more")
    }

    private func moreFollows() throws(NightjarError) -> Bool? {
        guard let pointer = plan.more, response.document != nil else { return nil }
        let value = response.find(pointer)
        if let flag = response.flag(value) { return flag }
        // A missing flag is ignored. If the caller has set the location, the first response must contain the flag.
        guard options.more != nil, value != nil || place.position == .first else { return nil }
        throw NightjarError(
            .decoding,
            "page \(place.number) has \(response.typeName(value)) at \(quoted(pointer.description)), where true or false "
                + "was expected; check the option more")
    }

    private func total() throws(NightjarError) -> Int? {
        guard let pointer = plan.total, response.document != nil else { return nil }
        let value = response.find(pointer)
        if let total = response.count(value) { return total }
        guard options.total != nil, value != nil || place.position == .first else { return nil }
        throw NightjarError(
            .decoding,
            "page \(place.number) has \(response.typeName(value)) at \(quoted(pointer.description)), where the number of "
                + "items was expected; check the option total")
    }

    private var currentPage: Int {
        if let declared = plan.number.flatMap({ response.count(response.find($0)) }) { return declared }
        if case .page(let number) = place.position { return number }
        return first.queryValue(plan.parameter).flatMap(PageResponse.count) ?? options.first
    }

    private var currentOffset: Int {
        if case .offset(let offset) = place.position { return offset }
        if let declared = plan.number.flatMap({ response.count(response.find($0)) }) { return declared }
        return first.queryValue(plan.parameter).flatMap(PageResponse.count) ?? 0
    }
}
