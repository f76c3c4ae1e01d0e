/// An element of a table.
protocol Row {
    var id: Int { get }
}

/// Rows ordered by identifier. Identifiers are assigned in the order of insertion and never reused.
struct Table<Element: Row> {
    private(set) var rows: [Element] = []
    private var lastID = 0

    /// The maximum number of rows, which limits the memory that clients can use.
    private static var capacity: Int { 10_000 }

    subscript(id: Int) -> Element? {
        index(of: id).map { rows[$0] }
    }

    /// - Parameter make: creates the row with the given identifier.
    mutating func insert(_ make: (_ id: Int) -> Element) throws(Problem) -> Element {
        guard rows.count < Table.capacity else {
            throw Problem(.insufficientStorage, "the maximum of \(Table.capacity) entries is reached; delete some")
        }
        lastID += 1
        let row = make(lastID)
        rows.append(row)
        return row
    }

    /// Replaces the row with the identifier of `row`. Has no effect if there is no row with this identifier.
    mutating func replace(_ row: Element) {
        if let index = index(of: row.id) { rows[index] = row }
    }

    mutating func remove(_ id: Int) {
        if let index = index(of: id) { rows.remove(at: index) }
    }

    mutating func removeAll(where predicate: (Element) -> Bool) {
        rows.removeAll(where: predicate)
    }

    private func index(of id: Int) -> Int? {
        var low = 0
        var high = rows.count
        while low < high {
            let middle = (low + high) / 2
            if rows[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < rows.count && rows[low].id == id ? low : nil
    }
}

struct Article: Row {
    let id: Int
    var title: String
    var summary: String?
    var body: String
    var authorID: Int
    var tags: [String]
    var isPublished: Bool
    /// The time of creation. All times in this file are in seconds since 1970.
    let createdAt: Int
    var updatedAt: Int
}

struct User: Row {
    let id: Int
    var handle: String
    var name: String
    var email: String
    var bio: String?
    let createdAt: Int
    var updatedAt: Int
}

struct Comment: Row {
    let id: Int
    let articleID: Int
    var authorID: Int
    var body: String
    let createdAt: Int
    var updatedAt: Int
}

/// The data of the demo API. Used only on the server's event loop, so that each request sees consistent data.
final class Store: Resettable {
    var articles = Table<Article>()
    var users = Table<User>()
    var comments = Table<Comment>()
    /// Keyed by user identifier.
    var avatars: [Int: Avatar] = [:]
    let commentFeed = CommentFeed()

    private let seed: UInt64

    init(seed: UInt64) {
        self.seed = seed
        reset()
    }

    /// Restores the initial data.
    func reset() {
        let data = SeedData(seed: seed)
        articles = data.articles
        users = data.users
        comments = data.comments
        avatars = [:]
    }

    func article(_ id: Int) throws(Problem) -> Article {
        guard let article = articles[id] else { throw Problem.notFound("article", id) }
        return article
    }

    func user(_ id: Int) throws(Problem) -> User {
        guard let user = users[id] else { throw Problem.notFound("user", id) }
        return user
    }

    func comment(_ id: Int) throws(Problem) -> Comment {
        guard let comment = comments[id] else { throw Problem.notFound("comment", id) }
        return comment
    }

    /// Adds a comment and notifies the observers of ``commentFeed``.
    ///
    /// - Throws: 507 if the table is full.
    func addComment(article: Int, author: Int, body: String) throws(Problem) -> Comment {
        let now = CalendarTime.now()
        let comment = try comments.insert { id in
            Comment(id: id, articleID: article, authorID: author, body: body, createdAt: now, updatedAt: now)
        }
        commentFeed.post(comment)
        return comment
    }
}
