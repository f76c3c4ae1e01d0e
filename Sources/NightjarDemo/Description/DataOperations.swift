/// The operations on articles, users and comments.
extension APIDescription {
    private static let patchTypes = ["application/merge-patch+json", "application/json"]

    private static let articleExample: JSON = [
        "title": "A night walk", "body": "It began at dusk.", "author_id": .int(1), "tags": ["birds"],
    ]
    private static let commentExample: JSON = ["author_id": .int(2), "body": "Well said."]

    static let articles: [DescribedOperation] = [
        .init(.GET, "/v1/articles", "list_articles", "Articles, filtered and sorted")
            .paged(sortedBy: "title", "created_at", "updated_at")
            .query("author", Schema.text(1...40), "Only articles by the author with this id or handle.", example: "ada")
            .query("tag", Schema.list(of: Schema.text(1...50)), "Only articles with all of these tags.")
            .query("published", Schema.flag, "Only published (true) or unpublished (false) articles.")
            .query("q", Schema.string, "Only articles with this text in the title or the summary, ignoring case.")
            .responds(Schema.reference("ArticlePage")),
        .init(.POST, "/v1/articles", "create_article", "Adds an article")
            .takes(Schema.reference("ArticleDraft"), example: articleExample)
            .responds(Schema.reference("Article"), status: 201),
        .init(.GET, "/v1/articles/{id}", "get_article", "An article")
            .explained(
                "The response has an `ETag` and a `Last-Modified`: revalidate with `If-None-Match`, change with `If-Match`."
            )
            .responds(Schema.reference("Article")),
        .init(.PUT, "/v1/articles/{id}", "replace_article", "Replaces an article")
            .takes(Schema.reference("ArticleDraft"), example: articleExample)
            .responds(Schema.reference("Article")),
        .init(.PATCH, "/v1/articles/{id}", "update_article", "Changes fields of an article (JSON Merge Patch)")
            .takes(Schema.reference("ArticlePatch"), as: patchTypes[0], patchTypes[1], example: ["title": "By day"])
            .responds(Schema.reference("Article")),
        .init(.DELETE, "/v1/articles/{id}", "delete_article", "Deletes an article and its comments")
            .respondsWithoutContent(),
        .init(.GET, "/v1/private/articles", "list_private_articles", "Articles, for authenticated users")
            .paged(sortedBy: "title", "created_at", "updated_at")
            .secured(by: "bearer", "oauth2")
            .responds(Schema.reference("ArticlePage")),
    ]

    static let users: [DescribedOperation] = [
        .init(.GET, "/v1/users", "list_users", "Users, filtered and sorted")
            .paged(sortedBy: "handle", "name", "created_at")
            .query("handle", Schema.text(1...40), "Only the user with this handle.", example: "emi")
            .query("q", Schema.string, "Only users with this text in the name, ignoring case.")
            .responds(Schema.reference("UserPage")),
        .init(.POST, "/v1/users", "create_user", "Adds a user")
            .takes(
                Schema.reference("UserDraft"),
                example: ["handle": "zoe", "name": "Zoe Ek", "email": "zoe@example.org"]
            )
            .responds(Schema.reference("User"), status: 201),
        .init(.GET, "/v1/users/{id}", "get_user", "A user").responds(Schema.reference("User")),
        .init(.PUT, "/v1/users/{id}", "replace_user", "Replaces a user")
            .takes(
                Schema.reference("UserDraft"),
                example: ["handle": "ada", "name": "Ada Sørensen", "email": .string(SeedData.email(of: "ada"))]
            )
            .responds(Schema.reference("User")),
        .init(.PATCH, "/v1/users/{id}", "update_user", "Changes fields of a user (JSON Merge Patch)")
            .takes(Schema.reference("UserPatch"), as: patchTypes[0], patchTypes[1], example: ["bio": .null])
            .responds(Schema.reference("User")),
        .init(.DELETE, "/v1/users/{id}", "delete_user", "Deletes a user without articles and comments")
            .respondsWithoutContent(),
        .init(.GET, "/v1/users/{id}/avatar", "get_avatar", "A user's picture")
            .responds([:], as: "image/*", "The picture. Supports `Range`."),
        .init(.PUT, "/v1/users/{id}/avatar", "upload_avatar", "Uploads a user's picture")
            .takesParts(
                Schema.object(["avatar": ["type": "string", "contentMediaType": "image/png"]]),
                types: ["avatar": "image/png"]
            )
            .responds(Schema.reference("Avatar"), "The picture was replaced.")
            .responds(Schema.reference("Avatar"), status: 201, "The picture was added."),
        .init(.DELETE, "/v1/users/{id}/avatar", "delete_avatar", "Deletes a user's picture").respondsWithoutContent(),
    ]

    static let comments: [DescribedOperation] = [
        .init(.GET, "/v1/articles/{id}/comments", "list_article_comments", "The comments on an article")
            .paged(sortedBy: "created_at")
            .query("author", Schema.text(1...40), "Only comments by the author with this id or handle.", example: "ada")
            .responds(Schema.reference("CommentPage")),
        .init(.POST, "/v1/articles/{id}/comments", "create_comment", "Comments on an article")
            .takes(Schema.reference("CommentDraft"), example: commentExample)
            .responds(Schema.reference("Comment"), status: 201),
        .init(.GET, "/v1/comments", "list_comments", "All comments")
            .paged(sortedBy: "created_at")
            .query("author", Schema.text(1...40), "Only comments by the author with this id or handle.", example: "ada")
            .query("article", Schema.id, "Only comments on the article with this id.")
            .responds(Schema.reference("CommentPage")),
        .init(.GET, "/v1/comments/{id}", "get_comment", "A comment").responds(Schema.reference("Comment")),
        .init(.PUT, "/v1/comments/{id}", "replace_comment", "Replaces a comment")
            .explained("Use `update_comment` instead, which has the same effect.")
            .deprecated()
            .takes(Schema.reference("CommentDraft"), example: commentExample).responds(Schema.reference("Comment")),
        .init(.PATCH, "/v1/comments/{id}", "update_comment", "Changes a comment (JSON Merge Patch)")
            .takes(Schema.reference("CommentPatch"), as: patchTypes[0], patchTypes[1], example: ["body": "Well put."])
            .responds(Schema.reference("Comment")),
        .init(.DELETE, "/v1/comments/{id}", "delete_comment", "Deletes a comment").respondsWithoutContent(),
    ]
}
