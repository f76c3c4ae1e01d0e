/// Infers how a list continues from the common names of members and header fields in a response.
///
/// The names come from the documentation of public APIs (Django REST, Laravel, Rails' pagers, JSON:API, HAL, OData,
/// Google's AIP-158, AWS, Azure, Slack, Stripe, Facebook, Kubernetes, Jira, Notion, ...).
struct PageHints {
    let response: PageResponse
    /// The number of items up to the end of this page. See ``reached(_:_:_:)``.
    var reached = 0

    // MARK: The location of the items

    private static let itemNames = ["items", "results", "data", "records", "value", "entries"]
    private static let wrappers = ["data", "_embedded", "result", "response"]

    /// Returns the location of the list's items.
    ///
    /// - Throws: `decoding` if the page has no content, if no array can be the list, or if several can.
    func items() throws(NightjarError) -> JSONPointer {
        guard let document = response.document else {
            throw NightjarError(.decoding, "page \(response.number) has no content, but a list was expected")
        }
        if response.isArray(document) { return JSONPointer() }
        var found: [[String]] = []
        search([]) { found.append($0) }
        if found.isEmpty {
            for wrapper in PageHints.wrappers where found.isEmpty { search([wrapper]) { found.append($0) } }
        }
        if found.count == 1 { return JSONPointer(tokens: found[0]) }
        if found.isEmpty {
            throw NightjarError(
                .decoding,
                "page \(response.number) contains no list: it is \(response.typeName(document)) without an array; "
                    + "set items to the location of the list")
        }
        let names = found.prefix(3).map { quoted(JSONPointer(tokens: $0).description) }
        throw NightjarError(
            .decoding,
            "page \(response.number) has several arrays "
                + "(\(names.joined(separator: ", "))\(found.count > 3 ? ", ..." : "")); "
                + "set items to the location of the list")
    }

    /// Searches the members of the object at `path`. Calls `found` with the path of the first array with a common name.
    /// If there is none, calls `found` with the path of each member that is an array.
    private func search(_ path: [String], _ found: ([String]) -> Void) {
        guard let range = response.hinted(path) else { return }
        for name in PageHints.itemNames {
            if let value = response.hinted(path + [name]), response.isArray(value) { return found(path + [name]) }
        }
        for member in response.members(of: range) where response.isArray(member.value) {
            found(path + [member.name])
        }
    }

    // MARK: The location of the next page

    /// Members that contain the URL of the next page.
    private static let urls = [
        ["next"], ["next_url"], ["nextUrl"], ["next_page_url"], ["nextPageUrl"], ["links", "next"],
        ["_links", "next", "href"], ["_links", "next"], ["@odata.nextLink"], ["odata.nextLink"], ["nextLink"],
        ["paging", "next"], ["pagination", "next"], ["pagination", "next_url"], ["meta", "next"], ["meta", "next_url"],
        ["info", "next"], ["links", "pages", "next"], ["next_page"], ["nextPage"], ["meta", "next_page"],
    ]

    /// Members that contain a cursor, each with the query item that sends the cursor back.
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
    /// Members that contain the ID of the last item. The ID is the cursor of the next page if a ``more`` flag is
    /// present too, as in OpenAI's lists.
    private static let lastIds = ["last_id", "lastId"]
    private static let totals = [
        "total", "total_count", "totalCount", "total_results", "totalResults", "total_items", "totalItems",
        "total_records", "totalRecords", "total_rooms", "totalElements", "totalSize",
    ]
    /// Members that contain a number of items: of the whole list in some APIs, of the page in others. If the number
    /// exceeds the items received so far, more items follow. An equal number is inconclusive.
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

    /// Returns the location of the URL of the next page. `hasNext` is false if the member is null, false, 0 or an empty
    /// string, which indicates the last page. A member with a URL takes precedence over such a member.
    func url() -> (pointer: JSONPointer, hasNext: Bool)? {
        let known = PageHints.urls.lazy.map { JSONPointer(tokens: $0) }
        if let pointer = known.first(where: { value($0).map(PageHints.isURL) ?? false }) { return (pointer, true) }
        return known.first(where: isEnded).map { ($0, false) }
    }

    /// Returns the location of the cursor. As in ``url()``, a member with a cursor takes precedence over a member that
    /// indicates the last page.
    func cursor() -> (pointer: JSONPointer, parameter: String, hasNext: Bool)? {
        for hasNext in [true, false] {
            for (path, parameter) in PageHints.cursors {
                let pointer = JSONPointer(tokens: path)
                if hasNext ? value(pointer) != nil : isEnded(pointer) { return (pointer, parameter, hasNext) }
            }
        }
        return nil
    }

    /// Returns the location of a member that is named like the URL of the next page and contains a text or a number.
    /// Called only if ``url()`` has found no URL.
    func ambiguous() -> JSONPointer? {
        PageHints.urls.lazy.map { JSONPointer(tokens: $0) }.first { value($0) != nil }
    }

    /// Returns the query item that usually sends back the cursor at `pointer`. Returns nil for a location that is not
    /// in ``cursors``.
    static func parameter(for pointer: JSONPointer?) -> String? {
        cursors.first { $0.path == pointer?.tokens }?.parameter
    }

    func moreFlag() -> JSONPointer? {
        for place in PageHints.morePlaces {
            for name in PageHints.more where response.flag(response.hinted(place + [name])) != nil {
                return JSONPointer(tokens: place + [name])
            }
        }
        return nil
    }

    func lastId() -> JSONPointer? {
        PageHints.lastIds.lazy.map { JSONPointer(tokens: [$0]) }.first { response.hinted($0.tokens) != nil }
    }

    func total() -> JSONPointer? { number(PageHints.totals) }
    func pageNumber() -> JSONPointer? { number(PageHints.numbers) }
    func lastPage() -> JSONPointer? { number(PageHints.lasts) }
    func offset() -> JSONPointer? { number(PageHints.offsets) }

    private func number(_ names: [String]) -> JSONPointer? {
        for place in PageHints.places {
            for name in names where response.count(response.hinted(place + [name])) != nil {
                return JSONPointer(tokens: place + [name])
            }
        }
        return nil
    }

    private func value(_ pointer: JSONPointer) -> String? {
        guard case .value(let text) = foundValue(pointer) else { return nil }
        return text
    }

    private func isEnded(_ pointer: JSONPointer) -> Bool { foundValue(pointer) == .ended }

    private func foundValue(_ pointer: JSONPointer) -> PageResponse.FoundValue? {
        try? response.seek(response.hinted(pointer.tokens), pointer, "")
    }

    static func isURL(_ text: String) -> Bool {
        text.hasPrefix("http://") || text.hasPrefix("https://") || text.hasPrefix("/")
            || text.utf8.contains(UInt8(ascii: "?"))
    }

    // MARK: Whether an absent value is the end of the list

    /// Returns a clause for a message about the part of the response that indicates more items, or nil if there is
    /// none.
    func continuationHint(count: Int) -> String? {
        if LinkField.next(in: response.links) != nil { return "its Link field names a next page (style link)" }
        if let (pointer, hasNext) = url(), hasNext {
            return "it has a URL at \(quoted(pointer.description)) (style next)"
        }
        if let (pointer, _, hasNext) = cursor(), hasNext {
            return "it has a cursor at \(quoted(pointer.description)) (style cursor)"
        }
        if let name = nextField() { return "its header field \(quoted(name)) names a next page (style header)" }
        if let pointer = moreFlag(), response.flag(response.find(pointer)) == true {
            return "it says at \(quoted(pointer.description)) that more items follow"
        }
        if let pointer = lastPage(), let last = response.count(response.find(pointer)), last > 1 {
            return "it counts \(last) pages at \(quoted(pointer.description)) (style page)"
        }
        if let field = counted(PageHints.pageFields), field.number > 1, reached <= count {
            return "its header field \(quoted(field.name)) counts \(field.number) pages (style page)"
        }
        let end = max(reached, count)
        for pointer in [total(), number(PageHints.counts)] {
            guard let pointer, let total = response.count(response.find(pointer)), total > end else { continue }
            return "it counts \(total) items at \(quoted(pointer.description)) and has \(count)"
        }
        if let field = counted(PageHints.totalFields), field.number > end {
            return "its header field \(quoted(field.name)) counts \(field.number) items and it has \(count)"
        }
        return nil
    }

    /// True if this page is the last one by the number of items that the response reports for the whole list.
    var countsNoMore: Bool {
        if let total = total().flatMap({ response.count(response.find($0)) }) { return total <= reached }
        return counted(PageHints.totalFields).map { $0.number <= reached } ?? false
    }

    private func counted(_ names: [String]) -> (name: String, number: Int)? {
        for name in names {
            if let number = response.headers[name].flatMap(PageResponse.count) { return (name, number) }
        }
        return nil
    }

    /// Returns the name of a header field that identifies the next page, such as X-Next-Page, X-Next-Token or
    /// Next-Cursor.
    ///
    /// - Parameter withURL: considers only fields that contain a URL.
    func nextField(withURL: Bool = false) -> String? {
        (0..<response.headers.count).first { index in
            response.headers.withBytes(at: index) { name, value in
                let words = name.map(ASCII.lowercase).split(separator: UInt8(ascii: "-"))
                guard !value.isEmpty, words.contains(where: { $0.elementsEqual("next".utf8) }) else { return false }
                return !withURL || PageHints.isURL(String(decoding: value, as: UTF8.self))
            }
        }.map(response.headers.name)
    }

    /// Returns two signs that the API omits the value at `pointer` at the end of a list. `hasParent`: the object that
    /// would contain the link is present, and its name is common for such objects. `isKnown`: known APIs omit members
    /// of this name.
    func omission(_ pointer: JSONPointer) -> (hasParent: Bool, isKnown: Bool) {
        let tokens = pointer.tokens
        guard let name = tokens.last else { return (false, false) }
        var holder = Array(tokens.dropLast())
        if name == "href", holder.last == "next" { holder.removeLast() }
        let isThere =
            [["links"], ["_links"], ["paging"], ["response_metadata"], ["metadata"]].contains(holder)
            && response.isObject(JSONPointer(tokens: holder))
        let isSlack = tokens == ["response_metadata", "next_cursor"]
        return (isThere, isSlack || PageHints.leftOut.contains(name))
    }

    /// Members that known APIs omit at the end of a list: AIP-158 (proto3's JSON omits empty strings), AWS, OData,
    /// Azure, DynamoDB.
    private static let leftOut: Set<String> = [
        "nextPageToken", "next_page_token", "nextToken", "NextToken", "@odata.nextLink", "odata.nextLink", "nextLink",
        "LastEvaluatedKey", "NextMarker", "NextContinuationToken",
    ]

    /// Common query items for the page size.
    static let sizeNames = [
        "per_page", "perPage", "page_size", "pageSize", "limit", "size", "max_results", "maxResults", "n", "$top",
        "top",
        "take", "rows", "maxItems", "page[size]", "page[limit]",
    ]
    /// The smallest default page size of known servers: 10 items (WordPress, Elasticsearch, Solr, Stripe; GitLab has
    /// 20, GitHub 30). If no size was requested, a shorter page is taken for the complete list.
    static let smallestPage = 10
}
