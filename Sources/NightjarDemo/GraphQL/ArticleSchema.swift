/// The GraphQL schema of the articles, users and comments of a store.
///
/// Lists are connections (the Relay Cursor Connections Specification). The field `secret` of an article always fails, so that
/// clients can be tested with partial data.
struct ArticleSchema {
    private typealias Field = GraphQL.FieldDefinition
    private typealias Input = GraphQL.InputField

    private let store: Store

    static func make(_ store: Store) -> GraphQL.Schema {
        let schema = ArticleSchema(store: store)
        return GraphQL.Schema([
            schema.query, schema.mutation, ArticleSubscription.type, schema.node, schema.article, schema.user,
            schema.comment, schema.connection("Article"), schema.edge("Article"), schema.connection("Comment"),
            schema.edge("Comment"), schema.pageInfo, schema.order, schema.createCommentInput, schema.updateArticleInput,
            GraphQL.NamedType(name: "DateTime", description: "A time: RFC 3339.", kind: .scalar),
        ])
    }

    private init(store: Store) { self.store = store }

    // MARK: Roots

    private var query: GraphQL.NamedType {
        object(
            "Query", "The reads.",
            [
                Field("article", "Article", "An article.", [ArticleSchema.id]) {
                    [self] _, arguments throws(GraphQL.Failure) in
                    ArticleSchema.number(arguments["id"]).flatMap { store.articles[$0] }.map(resolved) ?? .null
                },
                Field(
                    "articles", "ArticleConnection!", "The articles.",
                    ArticleSchema.page + [
                        Input(name: "tag", description: "Only those with this tag.", type: "String"),
                        Input(name: "order", description: "The order.", type: "Order", fallback: "OLDEST_FIRST"),
                    ]
                ) { [self] _, arguments throws(GraphQL.Failure) in
                    var rows = store.articles.rows
                    if case .string(let tag)? = arguments["tag"] { rows = rows.filter { $0.tags.contains(tag) } }
                    if arguments["order"] == "NEWEST_FIRST" { rows.reverse() }
                    return try ArticleSchema.connection("Article", rows, arguments, resolved)
                },
                Field(
                    "user", "User", "A user.",
                    [
                        Input(name: "id", description: "The id.", type: "ID"),
                        Input(name: "handle", description: "The handle, in place of the id.", type: "String"),
                    ]
                ) { [self] _, arguments throws(GraphQL.Failure) in
                    if case .string(let handle)? = arguments["handle"] {
                        return store.users.rows.first { $0.handle == handle }.map(resolved) ?? .null
                    }
                    return ArticleSchema.number(arguments["id"]).flatMap { store.users[$0] }.map(resolved) ?? .null
                },
                Field("users", "[User!]!", "All users.") { [self] _, _ throws(GraphQL.Failure) in
                    .list(store.users.rows.map(resolved))
                },
                Field("node", "Node", "An object by its global id.", [ArticleSchema.id]) {
                    [self] _, arguments throws(GraphQL.Failure) in
                    guard case .string(let id)? = arguments["id"] else { return .null }
                    let parts = id.split(separator: ":")
                    guard parts.count == 2, let number = Int(parts[1]) else { return .null }
                    switch parts[0] {
                    case "Article": return store.articles[number].map(resolved) ?? .null
                    case "User": return store.users[number].map(resolved) ?? .null
                    case "Comment": return store.comments[number].map(resolved) ?? .null
                    default: return .null
                    }
                },
            ])
    }

    private var mutation: GraphQL.NamedType {
        object(
            "Mutation", "The writes.",
            [
                Field(
                    "createComment", "Comment!", "Adds a comment to an article.",
                    [Input(name: "input", description: "The comment.", type: "CreateCommentInput!")]
                ) { [self] _, arguments throws(GraphQL.Failure) in
                    try createComment(arguments["input"] ?? .null)
                },
                Field(
                    "updateArticle", "Article!", "Changes fields of an article.",
                    [
                        ArticleSchema.id,
                        Input(name: "input", description: "The new values.", type: "UpdateArticleInput!"),
                    ]
                ) { [self] _, arguments throws(GraphQL.Failure) in
                    var article = try row(arguments["id"], "article", store.articles)
                    if case .string(let title)? = arguments["input"]?["title"] { article.title = title }
                    if let summary = arguments["input"]?["summary"] {
                        article.summary = if case .string(let text) = summary { text } else { nil }
                    }
                    article.updatedAt = CalendarTime.now()
                    store.articles.replace(article)
                    return resolved(article)
                },
                Field("deleteComment", "ID!", "Deletes a comment. Returns its id.", [ArticleSchema.id]) {
                    [self] _, arguments throws(GraphQL.Failure) in
                    let comment = try row(arguments["id"], "comment", store.comments)
                    store.comments.remove(comment.id)
                    return .leaf(.string("\(comment.id)"))
                },
            ])
    }

    private func createComment(_ input: JSON) throws(GraphQL.Failure) -> GraphQL.Resolved {
        let article = try row(input["articleId"], "article", store.articles)
        let author = try row(input["authorId"], "user", store.users)
        guard case .string(let body)? = input["body"], !body.isEmpty, body.count <= 10_000 else {
            throw GraphQL.Failure(message: "the body must have 1 to 10,000 characters", code: "BAD_USER_INPUT")
        }
        do throws(Problem) {
            return resolved(try store.addComment(article: article.id, author: author.id, body: body))
        } catch {
            throw GraphQL.Failure(message: error.detail)
        }
    }

    private func row<Element: Row>(
        _ id: JSON?, _ what: String, _ table: Table<Element>
    ) throws(GraphQL.Failure) -> Element {
        guard let row = ArticleSchema.number(id).flatMap({ table[$0] }) else {
            throw GraphQL.Failure(message: "there is no such \(what)", code: "NOT_FOUND")
        }
        return row
    }

    // MARK: Objects

    private func resolved(_ article: Article) -> GraphQL.Resolved { .object(type: "Article", article) }
    private func resolved(_ user: User) -> GraphQL.Resolved { .object(type: "User", user) }
    private func resolved(_ comment: Comment) -> GraphQL.Resolved { .object(type: "Comment", comment) }

    private var node: GraphQL.NamedType {
        let id = Field("globalId", "ID!", "The id among all objects.") { _, _ throws(GraphQL.Failure) in .null }
        return GraphQL.NamedType(name: "Node", description: "An object with a global id.", kind: .interface([id]))
    }

    private var article: GraphQL.NamedType {
        let field = Fields<Article>()
        return object(
            "Article", "An article.",
            [
                field("id", "ID!", "The id.") { .leaf(.string("\($0.id)")) },
                field("globalId", "ID!", "The id among all objects.") { .leaf(.string("Article:\($0.id)")) },
                field("title", "String!", "The title.") { .leaf(.string($0.title)) },
                field("headline", "String!", "The title.", deprecation: "Use title.") { .leaf(.string($0.title)) },
                field("summary", "String", "The summary.") { .optional($0.summary) },
                field("body", "String!", "The text.") { .leaf(.string($0.body)) },
                field("tags", "[String!]!", "The tags.") { .list($0.tags.map { .leaf(.string($0)) }) },
                field("published", "Boolean!", "Whether it is published.") { .leaf(.bool($0.isPublished)) },
                field("createdAt", "DateTime!", "The time of its creation.") { ArticleSchema.time($0.createdAt) },
                field("updatedAt", "DateTime!", "The time of its last change.") { ArticleSchema.time($0.updatedAt) },
                field("author", "User!", "The author.") { [self] in store.users[$0.authorID].map(resolved) ?? .null },
                Field("secret", "String", "A field that cannot be read.") { _, _ throws(GraphQL.Failure) in
                    throw GraphQL.Failure(message: "the field secret cannot be read", code: "FORBIDDEN")
                },
                Field("comments", "CommentConnection!", "The comments, oldest first.", ArticleSchema.page) {
                    [self] source, arguments throws(GraphQL.Failure) in
                    let rows = store.comments.rows.filter { $0.articleID == (source as? Article)?.id }
                    return try ArticleSchema.connection("Comment", rows, arguments, resolved)
                },
            ], interfaces: ["Node"])
    }

    private var user: GraphQL.NamedType {
        let field = Fields<User>()
        return object(
            "User", "A user.",
            [
                field("id", "ID!", "The id.") { .leaf(.string("\($0.id)")) },
                field("globalId", "ID!", "The id among all objects.") { .leaf(.string("User:\($0.id)")) },
                field("handle", "String!", "The handle.") { .leaf(.string($0.handle)) },
                field("name", "String!", "The name.") { .leaf(.string($0.name)) },
                field("bio", "String", "The description.") { .optional($0.bio) },
                field("articles", "[Article!]!", "The articles of the user.") { [self] user in
                    .list(store.articles.rows.filter { $0.authorID == user.id }.map(resolved))
                },
            ], interfaces: ["Node"])
    }

    private var comment: GraphQL.NamedType {
        let field = Fields<Comment>()
        return object(
            "Comment", "A comment on an article.",
            [
                field("id", "ID!", "The id.") { .leaf(.string("\($0.id)")) },
                field("globalId", "ID!", "The id among all objects.") { .leaf(.string("Comment:\($0.id)")) },
                field("body", "String!", "The text.") { .leaf(.string($0.body)) },
                field("createdAt", "DateTime!", "The time of its creation.") { ArticleSchema.time($0.createdAt) },
                field("author", "User!", "The author.") { [self] in store.users[$0.authorID].map(resolved) ?? .null },
                field("article", "Article!", "The article.") { [self] in
                    store.articles[$0.articleID].map(resolved) ?? .null
                },
            ], interfaces: ["Node"])
    }

    /// Makes the fields of the objects whose value is a `Source`.
    private struct Fields<Source> {
        func callAsFunction(
            _ name: String, _ type: GraphQL.TypeReference, _ description: String, deprecation: String? = nil,
            _ value: @escaping (Source) -> GraphQL.Resolved
        ) -> Field {
            Field(name, type, description, deprecation: deprecation) { source, _ throws(GraphQL.Failure) in
                (source as? Source).map(value) ?? .null
            }
        }
    }

    private static func time(_ seconds: Int) -> GraphQL.Resolved {
        .leaf(.string(CalendarTime(seconds: seconds).timestamp))
    }

    private func object(
        _ name: String, _ description: String, _ fields: [Field], interfaces: [String] = []
    ) -> GraphQL.NamedType {
        GraphQL.NamedType(name: name, description: description, kind: .object(fields, interfaces: interfaces))
    }

    // MARK: Connections

    private struct Page {
        let edges: [Edge]
        let total: Int
        let hasPrevious: Bool
        let hasNext: Bool
    }

    private struct Edge {
        let cursor: String
        let node: GraphQL.Resolved
    }

    /// Returns a page of rows. The cursors name the ids of the rows, so that they survive insertions.
    private static func connection<Element: Row>(
        _ name: String, _ rows: [Element], _ arguments: [String: JSON], _ resolved: (Element) -> GraphQL.Resolved
    ) throws(GraphQL.Failure) -> GraphQL.Resolved {
        guard case .integer(let count)? = arguments["first"], 1...100 ~= count else {
            throw GraphQL.Failure(message: "the argument first must be between 1 and 100", code: "BAD_USER_INPUT")
        }
        var start = 0
        if case .string(let cursor)? = arguments["after"] {
            let bytes = Base64.decode(cursor).map { String(decoding: $0, as: UTF8.self) }
            guard let id = bytes.flatMap({ Int($0) }), let index = rows.firstIndex(where: { $0.id == id }) else {
                throw GraphQL.Failure(
                    message: "the cursor of the argument after does not exist", code: "BAD_USER_INPUT")
            }
            start = index + 1
        }
        let end = min(start + Int(count), rows.count)
        let edges = rows[start..<end].map {
            Edge(cursor: Base64.encode(Array("\($0.id)".utf8)), node: resolved($0))
        }
        let page = Page(edges: edges, total: rows.count, hasPrevious: start > 0, hasNext: end < rows.count)
        return .object(type: "\(name)Connection", page)
    }

    private func connection(_ name: String) -> GraphQL.NamedType {
        let field = Fields<Page>()
        return object(
            "\(name)Connection", "A page.",
            [
                field("edges", .nonNull(.list(.nonNull(.named("\(name)Edge")))), "The nodes with their cursors.") {
                    page in
                    .list(page.edges.map { .object(type: "\(name)Edge", $0) })
                },
                field("nodes", .nonNull(.list(.nonNull(.named(name)))), "The nodes.") { .list($0.edges.map(\.node)) },
                field("pageInfo", "PageInfo!", "The place of the page.") { .object(type: "PageInfo", $0) },
                field("totalCount", "Int!", "The number of nodes of all pages.") { .leaf(.int($0.total)) },
            ])
    }

    private func edge(_ name: String) -> GraphQL.NamedType {
        let field = Fields<Edge>()
        return object(
            "\(name)Edge", "A node with its cursor.",
            [
                field("node", .nonNull(.named(name)), "The node.") { $0.node },
                field("cursor", "String!", "The cursor for the argument after.") { .leaf(.string($0.cursor)) },
            ])
    }

    private var pageInfo: GraphQL.NamedType {
        let field = Fields<Page>()
        return object(
            "PageInfo", "The place of a page.",
            [
                field("hasNextPage", "Boolean!", "Whether nodes follow.") { .leaf(.bool($0.hasNext)) },
                field("hasPreviousPage", "Boolean!", "Whether nodes precede.") { .leaf(.bool($0.hasPrevious)) },
                field("startCursor", "String", "The first cursor.") { .optional($0.edges.first?.cursor) },
                field("endCursor", "String", "The last cursor.") { .optional($0.edges.last?.cursor) },
            ])
    }

    // MARK: Inputs

    private static let id = GraphQL.InputField(name: "id", description: "The id.", type: "ID!")

    private static let page = [
        GraphQL.InputField(
            name: "first", description: "The size of the page, 1 to 100.", type: "Int", fallback: .int(10)),
        GraphQL.InputField(name: "after", description: "The cursor before the page.", type: "String"),
    ]

    /// - Parameter id: An ID, which is a text.
    private static func number(_ id: JSON?) -> Int? {
        guard case .string(let text)? = id else { return nil }
        return Int(text)
    }

    private var order: GraphQL.NamedType {
        GraphQL.NamedType(
            name: "Order", description: "The order of a list.", kind: .enumeration(["OLDEST_FIRST", "NEWEST_FIRST"]))
    }

    private var createCommentInput: GraphQL.NamedType {
        GraphQL.NamedType(
            name: "CreateCommentInput", description: "A new comment.",
            kind: .input([
                Input(name: "articleId", description: "The article.", type: "ID!"),
                Input(name: "authorId", description: "The author.", type: "ID!"),
                Input(name: "body", description: "The text, 1 to 10,000 characters.", type: "String!"),
            ]))
    }

    private var updateArticleInput: GraphQL.NamedType {
        GraphQL.NamedType(
            name: "UpdateArticleInput", description: "The new values of an article.",
            kind: .input([
                Input(name: "title", description: "The title.", type: "String"),
                Input(name: "summary", description: "The summary; null removes it.", type: "String"),
            ]))
    }
}
