/// The schemas that several operations share: the components of the description.
enum DescribedSchemas {
    static let all: KeyValuePairs<String, JSON> = [
        "Recorded": recorded, "PageNumbers": pageNumbers,
        "Article": Schema.all(of: Schema.reference("Recorded"), article), "ArticleDraft": articleDraft,
        "ArticlePatch": articlePatch, "ArticlePage": page(of: "Article"),
        "User": Schema.all(of: Schema.reference("Recorded"), user), "UserDraft": userDraft, "UserPatch": userPatch,
        "UserPage": page(of: "User"),
        "Comment": Schema.all(of: Schema.reference("Recorded"), comment), "CommentDraft": commentDraft,
        "CommentPatch": commentPatch, "CommentPage": page(of: "Comment"),
        "Avatar": avatar, "Grant": grant, "Client": client, "Order": order, "ListItem": listItem,
        "ListQuery": listQuery, "Problem": problem, "OAuthError": oauthError,
    ]

    // MARK: Data

    private static let recorded = Schema.object([
        "id": Schema.id, "created_at": Schema.time, "updated_at": Schema.time,
    ])

    private static let pageNumbers = Schema.object([
        "page": Schema.integer(from: 1), "per_page": Schema.integer(Page.sizes), "total": Schema.integer(from: 0),
        "total_pages": Schema.integer(from: 0),
    ])

    private static func page(of name: String) -> JSON {
        Schema.all(
            of: Schema.reference("PageNumbers"),
            Schema.object(["results": Schema.list(of: Schema.reference(name))]))
    }

    private static let title = Schema.text(1...200)
    private static let summary = Schema.nullable(Schema.text(0...500))
    private static let articleBody = Schema.text(1...100_000)
    private static let tags = Schema.list(of: Schema.text(1...50), atMost: 20)

    private static let article = Schema.object([
        "title": title, "summary": summary, "body": articleBody, "author_id": Schema.id, "tags": tags,
        "published": Schema.flag,
    ])

    private static let articleDraft = Schema.object(
        [
            "title": title, "summary": summary, "body": articleBody, "author_id": Schema.id, "tags": tags,
            "published": Schema.flag,
        ], optional: ["summary", "tags", "published"], isClosed: true)

    private static let articlePatch = Schema.object(
        [
            "title": title, "summary": summary, "body": articleBody, "author_id": Schema.id,
            "tags": Schema.nullable(tags), "published": Schema.nullable(Schema.flag),
        ], optional: ["title", "summary", "body", "author_id", "tags", "published"], isClosed: true)

    private static let handle = Schema.text(1...40)
    private static let name = Schema.text(1...100)
    private static let email: JSON = [
        "type": "string", "format": "email", "minLength": .int(3), "maxLength": .int(254),
    ]
    private static let bio = Schema.nullable(Schema.text(0...1000))

    private static let user = Schema.object(["handle": handle, "name": name, "email": email, "bio": bio])

    private static let userDraft = Schema.object(
        ["handle": handle, "name": name, "email": email, "bio": bio], optional: ["bio"], isClosed: true)

    private static let userPatch = Schema.object(
        ["handle": handle, "name": name, "email": email, "bio": bio], optional: ["handle", "name", "email", "bio"],
        isClosed: true)

    private static let commentText = Schema.text(1...10_000)

    private static let comment = Schema.object(["article_id": Schema.id, "author_id": Schema.id, "body": commentText])

    private static let commentDraft = Schema.object(["author_id": Schema.id, "body": commentText], isClosed: true)

    private static let commentPatch = Schema.object(
        ["author_id": Schema.id, "body": commentText], optional: ["author_id", "body"], isClosed: true)

    private static let avatar = Schema.object([
        "user_id": Schema.id, "filename": Schema.nullable(Schema.string), "content_type": Schema.string,
        "bytes": Schema.integer(from: 1), "crc32": Schema.string, "url": ["type": "string", "format": "uri-reference"],
    ])

    // MARK: Logins and orders

    private static let grant = Schema.object(
        [
            "access_token": Schema.string, "token_type": Schema.constant("Bearer"),
            "expires_in": ["type": "number", "minimum": .int(0)], "refresh_token": Schema.string,
        ], optional: ["refresh_token"])

    private static let client = Schema.object(["client_id": Schema.string], isClosed: true)

    private static let order = Schema.object([
        "id": Schema.id, "order": Schema.nullable(["type": "object"]), "body_bytes": Schema.integer(from: 0),
        "created_at": Schema.time,
    ])

    // MARK: Lists

    private static let listItem = Schema.object([
        "id": Schema.id, "name": Schema.string, "created_at": Schema.time,
    ])

    private static let listQuery = Schema.object([
        "style": ["type": "string", "enum": .array(ListStyle.allCases.map { .string($0.rawValue) })],
        "query": Schema.string, "page": Schema.integer(from: 1), "items": Schema.integer(from: 0),
        "status": Schema.integer(from: 0),
    ])

    // MARK: Errors

    private static let problem = Schema.object(
        [
            "type": ["type": "string", "format": "uri-reference"], "title": Schema.string,
            "status": Schema.integer(400...599), "detail": Schema.string,
            "errors": Schema.list(
                of: Schema.object(
                    ["pointer": Schema.string, "parameter": Schema.string, "detail": Schema.string],
                    optional: ["pointer", "parameter"])),
        ], optional: ["errors"])

    private static let oauthError = Schema.object(
        ["error": Schema.string, "error_description": Schema.string], optional: ["error_description"])
}
