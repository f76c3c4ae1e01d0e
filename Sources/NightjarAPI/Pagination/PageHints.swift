/// What answers of APIs tell about how their lists go on, by the names that are in use.
///
/// The names are those that public APIs document (Django REST, Laravel, Rails' pagers, JSON:API, HAL, OData, Google's
/// AIP-158, AWS, Azure, Slack, Stripe, Facebook, Kubernetes, Jira, Notion, ...).
struct PageHints {
    let answer: PageAnswer
    /// Items up to the end of this page; see ``reached(_:_:_:)``.
    var reached = 0

    // MARK: Where the items are

    private static let itemNames = ["items", "results", "data", "records", "value", "entries"]
    private static let wrappers = ["data", "_embedded", "result", "response"]

    /// - Throws: `decoding` where no array can be the list, or several could.
    func items() throws(NightjarError) -> JSONPointer {
        guard let document = answer.document else {
            throw NightjarError(.decoding, "page \(answer.number) has no content, so no list")
        }
        if answer.isArray(document) { return JSONPointer() }
        var found: [[String]] = []
        search([]) { found.append($0) }
        if found.isEmpty {
            for wrapper in PageHints.wrappers where found.isEmpty { search([wrapper]) { found.append($0) } }
        }
        if found.count == 1 { return JSONPointer(tokens: found[0]) }
        if found.isEmpty {
            throw NightjarError(
                .decoding,
                "page \(answer.number) lists nothing: it is \(answer.typeName(document)) without an array; "
                    + "set items to where its list is")
        }
        let names = found.prefix(3).map { quoted(JSONPointer(tokens: $0).description) }
        throw NightjarError(
            .decoding,
            "page \(answer.number) has several arrays (\(names.joined(separator: ", "))\(found.count > 3 ? ", ..." : "")); "
                + "set items to the one that is the list")
    }

    /// Gives the array of a usual name alone, or else all arrays.
    private func search(_ path: [String], _ found: ([String]) -> Void) {
        guard let range = answer.hinted(path) else { return }
        for name in PageHints.itemNames {
            if let value = answer.hinted(path + [name]), answer.isArray(value) { return found(path + [name]) }
        }
        for member in answer.members(of: range) where answer.isArray(member.value) {
            found(path + [member.name])
        }
    }

    // MARK: Where the next page is

    /// A member that has the URL of the next page.
    private static let urls = [
        ["next"], ["next_url"], ["nextUrl"], ["next_page_url"], ["nextPageUrl"], ["links", "next"],
        ["_links", "next", "href"], ["_links", "next"], ["@odata.nextLink"], ["odata.nextLink"], ["nextLink"],
        ["paging", "next"], ["pagination", "next"], ["pagination", "next_url"], ["meta", "next"], ["meta", "next_url"],
        ["info", "next"], ["links", "pages", "next"], ["next_page"], ["nextPage"], ["meta", "next_page"],
    ]

    /// A member that has a cursor, and the query item that takes it.
    static let cursors: [(path: [String], parameter: String)] = [
        (["next_cursor"], "cursor"), (["nextCursor"], "cursor"), (["cursor", "next"], "cursor"),
        (["cursors", "next"], "cursor"), (["meta", "next_cursor"], "cursor"), (["meta", "nextCursor"], "cursor"),
        (["metadata", "next_cursor"], "cursor"), (["pagination", "next_cursor"], "cursor"),
        (["pagination", "nextCursor"], "cursor"), (["response_metadata", "next_cursor"], "cursor"),
        (["page", "next_cursor"], "cursor"), (["nextPageToken"], "pageToken"), (["next_page_token"], "page_token"),
        (["nextToken"], "nextToken"), (["next_token"], "next_token"), (["NextToken"], "NextToken"),
        (["meta", "next_token"], "pagination_token"), (["continuation"], "continuation"),
        (["continuationToken"], "continuationToken"), (["continuation_token"], "continuation_token"),
        (["metadata", "continue"], "continue"), (["next_batch"], "from"), (["next_marker"], "marker"),
        (["nextMarker"], "marker"),
        (["NextMarker"], "marker"), (["data", "after"], "after"), (["paging", "cursors", "after"], "after"),
        (["next_page"], "page"), (["nextPage"], "page"), (["meta", "next_page"], "page"),
        (["pagination", "next_page"], "page"),
    ]

    private static let more = [
        "has_more", "hasMore", "has_next", "hasNext", "has_next_page", "hasNextPage", "HasMore", "HasMoreResults",
        "hasMoreResults", "has_more_results", "IsTruncated", "isTruncated", "is_truncated", "truncated", "more",
    ]
    /// The id of the last item, which is the cursor of the next page where ``more`` is there too: OpenAI's lists.
    private static let lastIds = ["last_id", "lastId"]
    private static let totals = [
        "total", "total_count", "totalCount", "total_results", "totalResults", "total_items", "totalItems",
        "total_records", "totalRecords", "total_rooms", "totalElements", "totalSize",
    ]
    /// A number of items, of the list in some APIs and of the page in others: a larger number than that of the items tells
    /// that more follow, and an equal one tells nothing.
    private static let counts = [
        "count", "Count", "Total", "TotalCount", "total_rows", "numFound", "resultCount", "recordCount",
        "total_room_count_estimate",
    ]
    /// Header fields with the number of items in the list.
    private static let totalFields = [
        "X-Total-Count", "Total-Count", "X-Total", "X-WP-Total", "Total-Records", "Total-Objects", "X-Total-Results",
        "X-Pagination-Total-Count", "X-Count",
    ]
    private static let pageFields = ["X-Total-Pages", "X-WP-TotalPages", "X-Pagination-Page-Count", "X-Page-Count"]
    private static let numbers = ["page", "current_page", "currentPage", "page_number", "pageNumber"]
    private static let lasts = [
        "total_pages", "totalPages", "last_page", "lastPage", "page_count", "pageCount", "pages",
    ]
    private static let offsets = ["offset", "skip", "startAt", "start"]
    private static let places = [[], ["meta"], ["pagination"], ["meta", "pagination"], ["paging"], ["info"], ["page"]]
    private static let morePlaces =
        places + [["pageInfo"], ["page_info"], ["metadata"], ["links"], ["data"], ["result"]]

    /// Where the URL of the next page is: one that is there before one that says that there is none.
    func url() -> (pointer: JSONPointer, goesOn: Bool)? {
        let known = PageHints.urls.lazy.map { JSONPointer(tokens: $0) }
        if let pointer = known.first(where: { value($0).map(PageHints.isURL) ?? false }) { return (pointer, true) }
        return known.first(where: isEnded).map { ($0, false) }
    }

    /// The same for cursors.
    func cursor() -> (pointer: JSONPointer, parameter: String, goesOn: Bool)? {
        for goesOn in [true, false] {
            for (path, parameter) in PageHints.cursors {
                let pointer = JSONPointer(tokens: path)
                if goesOn ? value(pointer) != nil : isEnded(pointer) { return (pointer, parameter, goesOn) }
            }
        }
        return nil
    }

    /// A member that should have the URL of the next page and has a text of another kind.
    func unclear() -> JSONPointer? {
        PageHints.urls.lazy.map { JSONPointer(tokens: $0) }.first { value($0) != nil }
    }

    /// The query item that usually takes the cursor that `pointer` names.
    static func parameter(for pointer: JSONPointer?) -> String? {
        cursors.first { $0.path == pointer?.tokens }?.parameter
    }

    func moreFlag() -> JSONPointer? {
        for place in PageHints.morePlaces {
            for name in PageHints.more where answer.flag(answer.hinted(place + [name])) != nil {
                return JSONPointer(tokens: place + [name])
            }
        }
        return nil
    }

    func lastId() -> JSONPointer? {
        PageHints.lastIds.lazy.map { JSONPointer(tokens: [$0]) }.first { answer.hinted($0.tokens) != nil }
    }

    func total() -> JSONPointer? { number(PageHints.totals) }
    func pageNumber() -> JSONPointer? { number(PageHints.numbers) }
    func lastPage() -> JSONPointer? { number(PageHints.lasts) }
    func offset() -> JSONPointer? { number(PageHints.offsets) }

    private func number(_ names: [String]) -> JSONPointer? {
        for place in PageHints.places {
            for name in names where answer.count(answer.hinted(place + [name])) != nil {
                return JSONPointer(tokens: place + [name])
            }
        }
        return nil
    }

    private func value(_ pointer: JSONPointer) -> String? {
        guard case .value(let text) = sought(pointer) else { return nil }
        return text
    }

    private func isEnded(_ pointer: JSONPointer) -> Bool { sought(pointer) == .ended }

    private func sought(_ pointer: JSONPointer) -> PageAnswer.Sought? {
        try? answer.seek(answer.hinted(pointer.tokens), pointer, "")
    }

    static func isURL(_ text: String) -> Bool {
        text.hasPrefix("http://") || text.hasPrefix("https://") || text.hasPrefix("/")
            || text.utf8.contains(UInt8(ascii: "?"))
    }

    // MARK: Whether a missing one is the end

    /// A sentence about what in the answer says that more follows; nil where nothing does.
    func whatGoesOn(count: Int) -> String? {
        if LinkField.next(in: answer.links) != nil { return "its Link field names a next page (style link)" }
        if let (pointer, goesOn) = url(), goesOn {
            return "it has a URL at \(quoted(pointer.description)) (style next)"
        }
        if let (pointer, _, goesOn) = cursor(), goesOn {
            return "it has a cursor at \(quoted(pointer.description)) (style cursor)"
        }
        if let name = nextField() { return "its header field \(quoted(name)) tells of a next page (style header)" }
        if let pointer = moreFlag(), answer.flag(answer.find(pointer)) == true {
            return "it says that there is more at \(quoted(pointer.description))"
        }
        if let pointer = lastPage(), let last = answer.count(answer.find(pointer)), last > 1 {
            return "it counts \(last) pages at \(quoted(pointer.description)) (style page)"
        }
        if let field = counted(PageHints.pageFields), field.number > 1, reached <= count {
            return "its header field \(quoted(field.name)) counts \(field.number) pages (style page)"
        }
        let end = max(reached, count)
        for pointer in [total(), number(PageHints.counts)] {
            guard let pointer, let total = answer.count(answer.find(pointer)), total > end else { continue }
            return "it counts \(total) items at \(quoted(pointer.description)) and has \(count)"
        }
        if let field = counted(PageHints.totalFields), field.number > end {
            return "its header field \(quoted(field.name)) counts \(field.number) items and it has \(count)"
        }
        return nil
    }

    /// Whether the response counts the items of the list, and this page is the last by that.
    var countsNoMore: Bool {
        if let total = total().flatMap({ answer.count(answer.find($0)) }) { return total <= reached }
        return counted(PageHints.totalFields).map { $0.number <= reached } ?? false
    }

    private func counted(_ names: [String]) -> (name: String, number: Int)? {
        for name in names {
            if let number = answer.headers[name].flatMap(PageAnswer.count) { return (name, number) }
        }
        return nil
    }

    /// A header field that has a token, a number or the URL of a next page: X-Next-Page, X-Next-Token, Next-Cursor.
    ///
    /// - Parameter withURL: only those with a URL.
    func nextField(withURL: Bool = false) -> String? {
        (0..<answer.headers.count).first { index in
            answer.headers.withBytes(at: index) { name, value in
                let words = name.map(ASCII.lowercase).split(separator: UInt8(ascii: "-"))
                guard !value.isEmpty, words.contains(where: { $0.elementsEqual("next".utf8) }) else { return false }
                return !withURL || PageHints.isURL(String(decoding: value, as: UTF8.self))
            }
        }.map(answer.headers.name)
    }

    /// Whether the API is documented to leave `pointer` out at the end: what holds the links is there without one, or the
    /// name is one of a family that does so.
    func leavesOut(_ pointer: JSONPointer) -> (holderIsThere: Bool, isKnown: Bool) {
        let tokens = pointer.tokens
        guard let name = tokens.last else { return (false, false) }
        var holder = Array(tokens.dropLast())
        if name == "href", holder.last == "next" { holder.removeLast() }
        let isThere =
            [["links"], ["_links"], ["paging"], ["response_metadata"], ["metadata"]].contains(holder)
            && answer.isObject(JSONPointer(tokens: holder))
        let isSlack = tokens == ["response_metadata", "next_cursor"]
        return (isThere, isSlack || PageHints.leftOut.contains(name))
    }

    /// AIP-158 (proto3's JSON leaves empty texts out), AWS, OData, Azure, DynamoDB.
    private static let leftOut: Set<String> = [
        "nextPageToken", "next_page_token", "nextToken", "NextToken", "@odata.nextLink", "odata.nextLink", "nextLink",
        "LastEvaluatedKey", "NextMarker", "NextContinuationToken",
    ]

    /// Query items by which sizes of pages are asked for.
    static let sizeNames = [
        "per_page", "perPage", "page_size", "pageSize", "limit", "size", "max_results", "maxResults", "n", "$top",
        "top",
        "take", "rows", "maxItems", "page[size]", "page[limit]",
    ]
    /// The smallest page that servers give unasked is of 10 items (WordPress, Elasticsearch, Solr; GitHub has 30, GitLab
    /// 20, Stripe 10). A shorter one of a server that was asked for no size is all there is.
    static let smallestPage = 10
}
