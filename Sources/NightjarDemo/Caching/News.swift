import NIOHTTP1

/// `/news` and `/me/news`: a feed for offline readers. Used only on the server's event loop.
final class News: Resettable {
    /// An item never changes.
    private struct Item: Row {
        let id: Int
        let title: String
        let body: String
        let authorID: Int
        let createdAt: Int
    }

    /// A list is fresh for a minute. A stale list may be used for ten minutes while it is revalidated, and for a day if
    /// the revalidation fails (RFC 5861).
    private static let listControl = "max-age=60, stale-while-revalidate=600, stale-if-error=86400"
    /// The Cache-Control of an item, which never changes (RFC 8246).
    private static let itemControl = "max-age=31536000, immutable"
    private static let privateControl = "private, max-age=60, stale-while-revalidate=600, stale-if-error=86400"
    private static let listLength = 20

    private let seed: UInt64
    private let tokens: Tokens
    private let store: Store
    private var items = Table<Item>()

    init(seed: UInt64, tokens: Tokens, store: Store) {
        self.seed = seed
        self.tokens = tokens
        self.store = store
        reset()
    }

    /// Restores the initial news, one item for each published article.
    func reset() {
        items = Table()
        for article in SeedData(seed: seed).articles.rows where article.isPublished {
            // `insert` cannot fail here, because the table is far below its capacity.
            _ = try? items.insert { id in
                Item(
                    id: id, title: article.title, body: article.body, authorID: article.authorID,
                    createdAt: article.createdAt)
            }
        }
    }

    func add(to router: inout Router) {
        router.on(.GET, "/news", list)
        router.on(.POST, "/news", create)
        router.on(.GET, "/news/{id}", read)
        router.on(.GET, "/me/news", listOfUser)
    }

    /// Returns the newest items, newest first.
    private func list(_ request: Request) throws(Problem) -> Response {
        let newest = items.rows.suffix(News.listLength)
        let document: JSON = ["results": .array(newest.reversed().map(summary))]
        return try Representation.json(document, control: News.listControl, modified: newest.last?.createdAt)
            .respond(request)
    }

    private func read(_ request: Request) throws(Problem) -> Response {
        let id = try request.id(of: "news item")
        guard let item = items[id] else { throw Problem.notFound("news item", id) }
        return try representation(item).respond(request)
    }

    /// Adds an item, so that stored lists become outdated.
    private func create(_ request: Request) throws(Problem) -> Response {
        var fields = Fields(
            try request.jsonObject(), known: ["title", "body", "author_id"], readOnly: ["id", "url", "created_at"])
        let title = fields.text("title", limit: 200)
        let body = fields.text("body", limit: 10_000)
        let author = fields.id("author_id", of: "user") { store.users[$0] != nil }
        try fields.check()
        let now = CalendarTime.now()
        let item = try items.insert { id in
            Item(id: id, title: title, body: body, authorID: author, createdAt: now)
        }
        return representation(item).created(at: "/news/\(item.id)")
    }

    /// Returns the newest items that the user has not written. The response contains the user's name.
    private func listOfUser(_ request: Request) throws(Problem) -> Response {
        guard case .user(let id) = try tokens.bearer(request).holder else {
            throw Problem(.forbidden, "this resource requires a user; the token was issued to a client")
        }
        let user = try store.user(id)
        let newest = items.rows.filter { $0.authorID != id }.suffix(News.listLength)
        let document: JSON = [
            "user": .string(user.handle), "results": .array(newest.reversed().map(summary)),
        ]
        var representation = Representation.json(document, control: News.privateControl)
        representation.headers.add(name: "Vary", value: "Authorization")
        return try representation.respond(request)
    }

    private func representation(_ item: Item) -> Representation {
        let members = fields(item) + [.init(name: "body", value: .string(item.body))]
        return .json(.object(members), control: News.itemControl, modified: item.createdAt)
    }

    private func summary(_ item: Item) -> JSON { .object(fields(item)) }

    private func fields(_ item: Item) -> [JSON.Member] {
        [
            .init(name: "id", value: .int(item.id)),
            .init(name: "title", value: .string(item.title)),
            .init(name: "url", value: .string("/news/\(item.id)")),
            .init(name: "author_id", value: .int(item.authorID)),
            .init(name: "created_at", value: .string(CalendarTime(seconds: item.createdAt).timestamp)),
        ]
    }
}
