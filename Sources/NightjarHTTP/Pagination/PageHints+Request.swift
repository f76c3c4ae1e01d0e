/// The facts about a list that its first request shows: the size of its pages, and the place of the first item.
extension PageHints {
    /// The number of items that a page was requested to have, by ``Pagination/size`` or a usual query item; nil: none was.
    static func askedSize(_ first: RequestURL, _ options: Pagination) -> Int? {
        if let size = options.size { return size }
        return sizeNames.lazy.compactMap { first.queryValue($0).flatMap(PageAnswer.count) }.filter { $0 > 0 }.min()
    }

    /// The number of items up to the end of the first page, which may be a later page of the server's list.
    ///
    /// - Parameter count: items of the page.
    static func reached(_ first: RequestURL, _ options: Pagination, _ count: Int) -> Int {
        var before = 0
        if let offset = offsetNames.lazy.compactMap({ first.queryValue($0).flatMap(PageAnswer.count) }).first {
            before = offset
        } else if let page = pageNames.lazy.compactMap({ first.queryValue($0).flatMap(PageAnswer.count) }).first,
            page > options.first
        {
            let (product, overflow) = (page - options.first).multipliedReportingOverflow(
                by: askedSize(first, options) ?? count)
            before = overflow ? .max : product
        }
        let (sum, overflow) = before.addingReportingOverflow(count)
        return overflow ? .max : sum
    }

    /// Whether the response says that no other page follows.
    func saysThatItEnds() -> Bool {
        if let flag = moreFlag() { return answer.flag(answer.find(flag)) == false }
        if LinkField.speaksOfPages(answer.links), LinkField.next(in: answer.links) == nil { return true }
        return answer.headers["X-Next-Page"]?.isEmpty == true
    }

    /// A sentence about a page that has exactly as many items as were requested, where nothing says that it is the last; nil
    /// for other pages.
    func fullPage(_ count: Int, asked: Int?) -> String? {
        guard let asked, count == asked, !saysThatItEnds(), !countsNoMore else { return nil }
        return "it has exactly the \(asked) items that were requested"
    }

    /// Query items that take the place of the first item. `start` and `from` are not here: many APIs have times there.
    static let offsetNames = ["offset", "skip", "startAt", "page[offset]"]
    /// Query items that take the number of a page.
    static let pageNames = ["page", "page_number", "pageNumber", "page[number]"]

    /// Query items that take a cursor. Used where an endpoint declares them.
    static let cursorNames = [
        "cursor", "after", "starting_after", "after_id", "page_token", "pageToken", "next_token", "nextToken",
        "NextToken",
        "pagination_token", "continuation_token", "continuationToken", "continuation-token", "continue", "continuation",
        "marker", "Marker", "page[after]", "page[cursor]", "start_cursor", "next_cursor", "since", "from",
    ]
}

/// The query parameters that an endpoint declares, for a guess: it prefers them to the usual names.
struct DeclaredParameter: Sendable, Equatable {
    var name: String
    /// The number that the server uses without the parameter.
    var start: Int?
}

extension Pagination {

    func declares(_ name: String) -> Bool { declared.contains { $0.name == name } }

    /// The query item that takes a cursor: the caller's, else one that the endpoint declares, else the usual one.
    ///
    /// - Parameter usual: the query item that APIs with this cursor use; an endpoint that declares it keeps it.
    func cursorParameter(usual: String?) -> (name: String, isGuessed: Bool) {
        if let parameter { return (parameter, false) }
        if let usual, declares(usual) { return (usual, true) }
        if let name = PageHints.cursorNames.first(where: declares) { return (name, true) }
        return (usual ?? "cursor", usual != nil && usual != "cursor")
    }
}
