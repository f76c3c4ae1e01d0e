/// Reads the page size and the position of the first item from the first request. Detects full pages and last pages.
extension PageHints {
    /// Returns the requested page size: ``Pagination/size``, or else the smallest value of a common query item in the
    /// first request. Returns nil if there is none.
    static func requestedSize(_ first: RequestURL, _ options: Pagination) -> Int? {
        if let size = options.size { return size }
        return sizeNames.lazy.compactMap { first.queryValue($0).flatMap(PageResponse.count) }.filter { $0 > 0 }.min()
    }

    /// Returns the number of items from the beginning of the server's list to the end of the first loaded page. The
    /// first request may skip items with an offset or a page number.
    ///
    /// - Parameter count: the number of items on the page.
    static func reached(_ first: RequestURL, _ options: Pagination, _ count: Int) -> Int {
        var before = 0
        if let offset = offsetNames.lazy.compactMap({ first.queryValue($0).flatMap(PageResponse.count) }).first {
            before = offset
        } else if let page = pageNames.lazy.compactMap({ first.queryValue($0).flatMap(PageResponse.count) }).first,
            page > options.first
        {
            let (product, overflow) = (page - options.first).multipliedReportingOverflow(
                by: requestedSize(first, options) ?? count)
            before = overflow ? .max : product
        }
        let (sum, overflow) = before.addingReportingOverflow(count)
        return overflow ? .max : sum
    }

    /// Returns true if the response indicates that no other page follows.
    func indicatesEnd() -> Bool {
        if let flag = moreFlag() { return response.flag(response.find(flag)) == false }
        if LinkField.containsPageLinks(response.links), LinkField.next(in: response.links) == nil { return true }
        return response.headers["X-Next-Page"]?.isEmpty == true
    }

    /// Returns a clause for a message if the page has exactly the requested number of items and nothing in the response
    /// indicates that the page is the last one. Otherwise returns nil.
    func fullPage(_ count: Int, requested: Int?) -> String? {
        guard let requested, count == requested, !indicatesEnd(), !countsNoMore else { return nil }
        return "it has exactly the \(requested) items that were requested"
    }

    /// Common query items for the position of the first item. `start` and `from` are not included, because many APIs
    /// use them for times.
    static let offsetNames = ["offset", "skip", "startAt", "page[offset]"]
    /// Common query items for a page number.
    static let pageNames = ["page", "page_number", "pageNumber", "page[number]"]

    /// Common query items for a cursor. Used only if the endpoint declares them.
    static let cursorNames = [
        "cursor", "after", "starting_after", "after_id", "page_token", "pageToken", "next_token", "nextToken",
        "NextToken",
        "pagination_token", "continuation_token", "continuationToken", "continuation-token", "continue", "continuation",
        "marker", "Marker", "page[after]", "page[cursor]", "start_cursor", "next_cursor", "since", "from",
    ]
}

/// A query parameter that an endpoint declares. Used to guess query items.
struct DeclaredParameter: Sendable, Equatable {
    var name: String
    /// The declared default, if it is an integer.
    var start: Int?
}

extension Pagination {

    func declares(_ name: String) -> Bool { declared.contains { $0.name == name } }

    /// Returns the query item for the cursor: set by the caller, declared by the endpoint, `usual`, or `cursor` if
    /// `usual` is nil.
    ///
    /// - Parameter usual: the query item that APIs with this kind of cursor use. If the endpoint declares this item, it
    ///   is preferred to other declared items.
    func cursorParameter(usual: String?) -> (name: String, isGuessed: Bool) {
        if let parameter { return (parameter, false) }
        if let usual, declares(usual) { return (usual, true) }
        if let name = PageHints.cursorNames.first(where: declares) { return (name, true) }
        return (usual ?? "cursor", usual != nil && usual != "cursor")
    }
}
