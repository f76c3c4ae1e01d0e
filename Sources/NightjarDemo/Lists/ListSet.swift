/// A data set that is returned in pages, and the log of its requests. Used only on the server's event loop.
final class ListSet {
    struct Page {
        let ids: [Int]
        /// The index of the first item, counted from the beginning of the selected order.
        let offset: Int
        let total: Int
        /// Nil if no page follows.
        let next: ListCursor?
    }

    enum Position {
        case place(Int)
        case behind(ListCursor)
    }

    /// A request and its result.
    struct Query {
        let style: ListStyle
        /// The query of the request target, truncated to 300 characters.
        let text: String
        let page: Int
        let itemCount: Int
        let status: Int
    }

    /// The maximum number of insertions and deletions, which limits the memory that clients can use. A client that
    /// reads 10,000 pages with both changes makes 20,000.
    static let changesLimit = 50_000
    private static let maximumFailures = 1000
    private static let maximumQueries = 100

    private(set) var items: ListItems
    private(set) var requestCount = 0
    /// The last queries, oldest first.
    private(set) var queries: [Query] = []
    /// The position of the common cursor of `repeat=cursor`.
    var remembered = ListCursor.start
    /// The position of the style `after`. Its requests contain an item instead of a cursor.
    private var traversal = ListCursor.start
    private var failures = BoundedTable<Int, Int>(capacity: ListSet.maximumFailures)
    private var random: SplitMix64

    /// Creates a set. The name is the seed of the random numbers that choose the changes.
    init(name: String, count: Int) {
        items = ListItems(count: count)
        // FNV-1a, because the hashes of the standard library differ from run to run.
        random = SplitMix64(
            seed: name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 })
    }

    func note(_ query: Query) {
        requestCount += 1
        if queries.count == ListSet.maximumQueries { queries.removeFirst() }
        queries.append(query)
    }

    /// Returns the number of requests for a page that have failed.
    func failureCount(page: Int) -> Int { failures[page] ?? 0 }

    func noteFailure(page: Int) { failures.set(failureCount(page: page) + 1, for: page) }

    /// Returns the cursor after an item. The request does not contain the page number. It is one more than the number
    /// of the preceding page, or the same number if the page is requested again.
    func cursor(behind last: Int) -> ListCursor {
        if traversal.last != last { traversal = ListCursor(last: last, page: traversal.page + 1) }
        return traversal
    }

    func beginTraversal() { traversal = .start }

    /// Inserts or deletes items around a position.
    ///
    /// - Throws: 507 if the set has had too many changes.
    func change(_ change: ListChange, at position: Position, isDescending: Bool) throws(Problem) {
        guard items.changeCount < ListSet.changesLimit else {
            throw Problem(
                .insufficientStorage,
                "the maximum of \(ListSet.changesLimit) changes of a set is reached; delete the set to start again")
        }
        let id =
            switch position {
            case .behind(let cursor): cursor.last ?? 0
            case .place(let offset): items.id(at: place(offset, isDescending)) ?? items.end
            }
        change.apply(to: &items, position: min(id, items.end), ahead: isDescending, &random)
    }

    /// Returns a page.
    ///
    /// - Parameter number: the number of the page, from 1.
    func page(at position: Position, number: Int, limit: Int, isDescending: Bool) -> Page {
        let total = items.count
        let offset: Int
        switch position {
        case .place(let place):
            offset = place
        case .behind(let cursor):
            switch cursor.last {
            case nil: offset = 0
            case let last?: offset = isDescending ? total - items.countBelow(last) : items.countBelow(last + 1)
            }
        }
        let ids: [Int]
        if isDescending {
            ids = items.ids(at: (total - offset - limit)..<(total - offset)).reversed()
        } else {
            ids = items.ids(at: offset..<(offset + limit))
        }
        let hasMore = offset + ids.count < total
        return Page(
            ids: ids, offset: offset, total: total,
            next: hasMore ? ids.last.map { ListCursor(last: $0, page: number + 1) } : nil)
    }

    private func place(_ offset: Int, _ isDescending: Bool) -> Int {
        isDescending ? items.count - 1 - offset : offset
    }
}
