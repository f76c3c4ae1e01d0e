/// `/v1/comments`, and `/v1/articles/{id}/comments` to list and create the comments on an article.
struct Comments {
    let store: Store

    func add(to router: inout Router) {
        router.on(.GET, "/v1/articles/{id}/comments", listOfArticle)
        router.on(.POST, "/v1/articles/{id}/comments", create)
        router.on(.GET, "/v1/comments", list)
        router.on(.GET, "/v1/comments/{id}", read)
        router.on(.PUT, "/v1/comments/{id}", replace)
        router.on(.PATCH, "/v1/comments/{id}", patch)
        router.on(.DELETE, "/v1/comments/{id}", delete)
    }

    private func listOfArticle(_ request: Request) throws(Problem) -> Response {
        let article = try store.article(request.id(of: "article"))
        return try list(request, store.comments.rows.filter { $0.articleID == article.id })
    }

    /// Returns a page of comments. Filters: `author` (an id or a handle), `article` (an id).
    private func list(_ request: Request) throws(Problem) -> Response {
        var rows = store.comments.rows
        if let article = request.query("article") {
            guard let id = Int(article) else { throw Problem.query("article", "must be a whole number") }
            rows = rows.filter { $0.articleID == id }
        }
        return try list(request, rows)
    }

    private func list(_ request: Request, _ rows: [Comment]) throws(Problem) -> Response {
        let page = try Page(request)
        let sort = try Sort<Comment>(request, by: ["created_at": { $0.createdAt < $1.createdAt }])
        var rows = rows
        if let author = request.query("author") {
            let id = Int(author) ?? store.users.rows.first { $0.handle == author }?.id
            rows = rows.filter { $0.authorID == id }
        }
        return try page.response(of: sort(rows), json, to: request)
    }

    private func read(_ request: Request) throws(Problem) -> Response {
        try representation(store.comment(request.id(of: "comment"))).respond(request)
    }

    private func create(_ request: Request) throws(Problem) -> Response {
        let article = try store.article(request.id(of: "article"))
        let draft = try Draft(request.jsonObject(), store)
        let comment = try store.addComment(article: article.id, author: draft.authorID, body: draft.body)
        return representation(comment).created(at: "/v1/comments/\(comment.id)")
    }

    private func replace(_ request: Request) throws(Problem) -> Response {
        let comment = try store.comment(request.id(of: "comment"))
        try representation(comment).checkChange(request)
        return try .json(json(update(comment, to: request.jsonObject())))
    }

    private func patch(_ request: Request) throws(Problem) -> Response {
        let comment = try store.comment(request.id(of: "comment"))
        try representation(comment).checkChange(request)
        return try representation(update(comment, to: request.patched(json(comment)))).changed(request)
    }

    private func update(_ comment: Comment, to document: JSON) throws(Problem) -> Comment {
        let draft = try Draft(document, store)
        var updated = comment
        updated.authorID = draft.authorID
        updated.body = draft.body
        updated.updatedAt = CalendarTime.now()
        store.comments.replace(updated)
        return updated
    }

    private func delete(_ request: Request) throws(Problem) -> Response {
        let comment = try store.comment(request.id(of: "comment"))
        try representation(comment).checkChange(request)
        store.comments.remove(comment.id)
        return Response(.noContent)
    }

    private func representation(_ comment: Comment) -> Representation {
        .json(json(comment), control: Representation.validated, modified: comment.updatedAt)
    }

    private func json(_ comment: Comment) -> JSON {
        [
            "id": .int(comment.id),
            "article_id": .int(comment.articleID),
            "author_id": .int(comment.authorID),
            "body": .string(comment.body),
            "created_at": .string(CalendarTime(seconds: comment.createdAt).timestamp),
            "updated_at": .string(CalendarTime(seconds: comment.updatedAt).timestamp),
        ]
    }

    /// The fields that a client can set. The article of an existing comment cannot be changed.
    private struct Draft {
        let authorID: Int
        let body: String

        init(_ document: JSON, _ store: Store) throws(Problem) {
            var fields = Fields(
                document, known: ["author_id", "body"], readOnly: ["id", "article_id", "created_at", "updated_at"])
            authorID = fields.id("author_id", of: "user") { store.users[$0] != nil }
            body = fields.text("body", limit: 10_000)
            try fields.check()
        }
    }
}
