/// `/v1/articles`
struct Articles {
    let store: Store

    func add(to router: inout Router) {
        router.on(.GET, "/v1/articles", list)
        router.on(.POST, "/v1/articles", create)
        router.on(.GET, "/v1/articles/{id}", read)
        router.on(.PUT, "/v1/articles/{id}", replace)
        router.on(.PATCH, "/v1/articles/{id}", patch)
        router.on(.DELETE, "/v1/articles/{id}", delete)
    }

    /// Returns a page of articles. Filters: `author` (an id or a handle), `tag` (if repeated, the article must have all
    /// tags), `published`, `q` (in the title or summary).
    func list(_ request: Request) throws(Problem) -> Response {
        let page = try Page(request)
        let sort = try Sort<Article>(
            request,
            by: [
                "title": { $0.title < $1.title },
                "created_at": { $0.createdAt < $1.createdAt },
                "updated_at": { $0.updatedAt < $1.updatedAt },
            ])
        var rows = store.articles.rows
        if let author = request.query("author") {
            let id = Int(author) ?? store.users.rows.first { $0.handle == author }?.id
            rows = rows.filter { $0.authorID == id }
        }
        for tag in request.queryValues("tag") {
            rows = rows.filter { $0.tags.contains(tag) }
        }
        if let published = request.query("published") {
            guard let flag = Bool(published) else { throw Problem.query("published", "must be true or false") }
            rows = rows.filter { $0.isPublished == flag }
        }
        if let words = request.query("q")?.lowercased() {
            rows = rows.filter { "\($0.title)\n\($0.summary ?? "")".lowercased().contains(words) }
        }
        return try page.response(of: sort(rows), json, to: request)
    }

    private func read(_ request: Request) throws(Problem) -> Response {
        try representation(store.article(request.id(of: "article"))).respond(request)
    }

    private func create(_ request: Request) throws(Problem) -> Response {
        let draft = try Draft(request.jsonObject(), store)
        let now = CalendarTime.now()
        let article = try store.articles.insert { id in draft.article(id: id, createdAt: now, updatedAt: now) }
        return representation(article).created(at: "/v1/articles/\(article.id)")
    }

    private func replace(_ request: Request) throws(Problem) -> Response {
        let article = try store.article(request.id(of: "article"))
        try representation(article).checkChange(request)
        return try .json(json(update(article, to: request.jsonObject())))
    }

    private func patch(_ request: Request) throws(Problem) -> Response {
        let article = try store.article(request.id(of: "article"))
        try representation(article).checkChange(request)
        return try representation(update(article, to: request.patched(json(article)))).changed(request)
    }

    private func update(_ article: Article, to document: JSON) throws(Problem) -> Article {
        let draft = try Draft(document, store)
        let updated = draft.article(id: article.id, createdAt: article.createdAt, updatedAt: CalendarTime.now())
        store.articles.replace(updated)
        return updated
    }

    /// Deletes the article and its comments.
    private func delete(_ request: Request) throws(Problem) -> Response {
        let article = try store.article(request.id(of: "article"))
        try representation(article).checkChange(request)
        store.articles.remove(article.id)
        store.comments.removeAll { $0.articleID == article.id }
        return Response(.noContent)
    }

    private func representation(_ article: Article) -> Representation {
        .json(json(article), control: Representation.validated, modified: article.updatedAt)
    }

    private func json(_ article: Article) -> JSON {
        [
            "id": .int(article.id),
            "title": .string(article.title),
            "summary": .optional(article.summary),
            "body": .string(article.body),
            "author_id": .int(article.authorID),
            "tags": .array(article.tags.map(JSON.string)),
            "published": .bool(article.isPublished),
            "created_at": .string(CalendarTime(seconds: article.createdAt).timestamp),
            "updated_at": .string(CalendarTime(seconds: article.updatedAt).timestamp),
        ]
    }

    /// The fields that a client can set.
    private struct Draft {
        let title: String
        let summary: String?
        let body: String
        let authorID: Int
        let tags: [String]
        let isPublished: Bool

        init(_ document: JSON, _ store: Store) throws(Problem) {
            var fields = Fields(
                document, known: ["title", "summary", "body", "author_id", "tags", "published"],
                readOnly: ["id", "created_at", "updated_at"])
            title = fields.text("title", limit: 200)
            summary = fields.optionalText("summary", limit: 500)
            body = fields.text("body", limit: 100_000)
            authorID = fields.id("author_id", of: "user") { store.users[$0] != nil }
            tags = fields.texts("tags", limit: 20, textLimit: 50)
            isPublished = fields.flag("published", or: false)
            try fields.check()
        }

        func article(id: Int, createdAt: Int, updatedAt: Int) -> Article {
            Article(
                id: id, title: title, summary: summary, body: body, authorID: authorID, tags: tags,
                isPublished: isPublished, createdAt: createdAt, updatedAt: updatedAt)
        }
    }
}
