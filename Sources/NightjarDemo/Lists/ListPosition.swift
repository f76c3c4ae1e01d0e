/// The page that a request selects.
struct ListPosition {
    let place: ListSet.Position
    /// The number of the page, from 1.
    let page: Int
    let isFirst: Bool

    /// The text of all cursors with `repeat=cursor`.
    static let repeated = "again"

    private static let placeLimit = 10_000_000

    init(_ request: Request, _ style: ListStyle, _ query: ListQuery, of set: ListSet) throws(Problem) {
        let cursor: ListCursor
        switch style {
        case .page:
            let first = query.firstPage
            let number = try request.query("page", in: first...ListPosition.placeLimit, or: first)
            self.init(offset: (number - first) * query.limit, page: number - first + 1, query)
            return
        case .offset:
            let offset = try request.query("offset", in: 0...ListPosition.placeLimit, or: 0)
            self.init(offset: offset, page: offset / query.limit + 1, query)
            return
        case .after:
            let last = try request.query("starting_after", in: 0...Int.max, or: -1)
            cursor = last < 0 ? .start : set.cursor(behind: last)
        case .cursor, .link, .next:
            cursor = try ListPosition.cursor(request.query("cursor"), "cursor", set)
        case .token:
            let field = request.head.headers.first(name: "x-token")
            cursor = try ListPosition.cursor(field ?? request.query("token"), "token", set)
        }
        self.init(
            place: .behind(query.repetition == .page ? .start : cursor), page: cursor.page, isFirst: cursor == .start)
    }

    private init(offset: Int, page: Int, _ query: ListQuery) {
        self.init(place: .place(query.repetition == .page ? 0 : offset), page: page, isFirst: offset == 0)
    }

    private init(place: ListSet.Position, page: Int, isFirst: Bool) {
        self.place = place
        self.page = page
        self.isFirst = isFirst
    }

    private static func cursor(_ text: String?, _ name: String, _ set: ListSet) throws(Problem) -> ListCursor {
        guard let text else { return .start }
        if text == repeated { return set.remembered }
        guard let cursor = ListCursor(text) else {
            throw Problem.query(name, "is not a value that this server returned")
        }
        return cursor
    }
}
