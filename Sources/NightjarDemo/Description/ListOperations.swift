/// The operations on lists of all pagination styles.
extension APIDescription {
    static let lists: [DescribedOperation] =
        ListStyle.allCases.map(list) + [
            .init(.POST, "/v1/lists/{set}/cursor", "list_by_cursor_in_body", "A list by an opaque cursor in the body")
                .explained("The members of the body have the names and values of the query of `list_by_cursor`.")
                .takes(
                    Schema.object(
                        [
                            "cursor": Schema.nullable(Schema.text(1...100)), "count": Schema.integer(Lists.counts),
                            "limit": Schema.integer(ListQuery.limits),
                        ], optional: ["cursor", "count", "limit"]), example: ["count": .int(25), "limit": .int(10)]
                )
                .pages([
                    "style": "cursor", "items": "/results", "key": "/id", "next": "/next_cursor",
                    "body_param": "/cursor",
                ])
                .responds(
                    Schema.object(
                        ["results": items, "next_cursor": Schema.nullable(Schema.string)], optional: ["next_cursor"])),
            .init(.GET, "/v1/lists/{set}", "get_list", "The request log of a list")
                .responds(
                    Schema.object([
                        "set": Schema.string, "count": Schema.integer(from: 0), "total": Schema.integer(from: 0),
                        "requests": Schema.integer(from: 0), "last": Schema.nullable(Schema.reference("ListQuery")),
                        "log": Schema.list(of: Schema.reference("ListQuery")),
                    ])),
            .init(.DELETE, "/v1/lists/{set}", "delete_list", "Deletes a list").respondsWithoutContent(),
            .init(
                .GET, "/v1/lists/{set}/survivors", "get_list_survivors", "The initial items of a list that still exist"
            )
            .explained(
                "The initial items are the first `count` multiples of `step`. Those not in `deleted` still exist."
            )
            .responds(
                Schema.object([
                    "count": Schema.integer(from: 0), "step": Schema.id, "deleted": Schema.list(of: Schema.id),
                    "inserted": Schema.list(of: Schema.id),
                ])),
            .init(.GET, "/v1/lists/{set}/items/{id}", "get_list_item", "An item of a list", exampleID: ListItems.step)
                .responds(Schema.reference("ListItem")),
        ]

    private static let items = Schema.list(of: Schema.reference("ListItem"))
    private static let place = Schema.integer(0...10_000_000)

    private static func list(_ style: ListStyle) -> DescribedOperation {
        let path = "/v1/lists/{set}/\(style.rawValue)"
        let list = DescribedOperation(.GET, path, "list_by_\(style.rawValue)", summary(of: style))
        switch style {
        case .page: return pageList(list)
        case .offset: return offsetList(list)
        case .cursor:
            return options(list.query("cursor", Schema.text(1...100), "The next_cursor of the preceding page."))
                .pages([
                    "style": "cursor", "items": "/results", "key": "/id", "next": "/next_cursor", "param": "cursor",
                    "size_param": "limit",
                ])
                .responds(
                    Schema.object(
                        ["results": items, "next_cursor": Schema.nullable(Schema.string)], optional: ["next_cursor"]))
        case .after:
            return options(list.query("starting_after", Schema.id, "The id of the last item of the preceding page."))
                .pages([
                    "style": "cursor", "items": "/data", "key": "/id", "more": "/has_more",
                    "param": "starting_after", "size_param": "limit",
                ])
                .responds(Schema.object(["data": items, "has_more": Schema.flag]))
        case .link:
            return options(
                list.query("cursor", Schema.text(1...100), "The cursor in the Link field of the preceding page.")
            )
            .pages(["style": "link", "items": "", "key": "/id", "size_param": "limit"])
            .responds(items)
        case .next:
            return options(
                list.query("cursor", Schema.text(1...100), "The cursor in the next URL of the preceding page.")
            )
            .pages([
                "style": "next", "items": "/value", "key": "/id", "next": "/next", "size_param": "limit",
            ])
            .responds(
                Schema.object(
                    [
                        "value": items,
                        "next": Schema.nullable(["type": "string", "format": "uri-reference"]),
                    ], optional: ["next"]))
        case .token:
            return options(list.header("X-Token", Schema.text(1...100), "The X-Next-Token of the preceding page."))
                .query("token", Schema.text(1...100), "The token in the query.")
                .pages([
                    "style": "header", "items": "/items", "key": "/id", "header": "X-Next-Token",
                    "request_header": "X-Token", "size_param": "limit",
                ])
                .responds(Schema.object(["items": items]))
        }
    }

    private static func pageList(_ list: DescribedOperation) -> DescribedOperation {
        options(
            list.query("page", Schema.integer(0...10_000_000), "The number of the page."), size: "per_page"
        )
        .pages([
            "style": "page", "items": "/results", "key": "/id", "total": "/total", "param": "page",
            "size_param": "per_page",
        ])
        .responds(
            Schema.object(
                [
                    "results": items, "page": place, "per_page": Schema.id, "total": place,
                    "total_pages": place,
                ], optional: ["total", "total_pages"]))
    }

    private static func offsetList(_ list: DescribedOperation) -> DescribedOperation {
        options(list.query("offset", place, "The number of items to skip."))
            .pages([
                "style": "offset", "items": "/items", "key": "/id", "total": "/total", "param": "offset",
                "size_param": "limit",
            ])
            .responds(
                Schema.object(
                    ["items": items, "offset": place, "limit": Schema.id, "total": place], optional: ["total"]))
    }

    private static func summary(of style: ListStyle) -> String {
        switch style {
        case .page: "A list by page number"
        case .offset: "A list by offset"
        case .cursor: "A list by an opaque cursor"
        case .after: "A list by the id of the last item"
        case .link: "A list by Link fields (RFC 8288)"
        case .next: "A list by the URL of the next page in the body"
        case .token: "A list by a token in a header field"
        }
    }

    /// Adds the options that all list styles have in common. ``ListQuery`` also has options that are not described
    /// here.
    private static func options(_ list: DescribedOperation, size: String = "limit") -> DescribedOperation {
        faults(
            list.query(
                "count", Schema.integer(Lists.counts), "The number of items if this request creates the list."
            )
            .query(size, Schema.integer(ListQuery.limits), "The number of items per page.")
            .query("order", Schema.choice("id", "newest"), "By ascending id, or newest first.")
            .query(
                "changes", Schema.choice("insert", "delete", "both"),
                "Changes to the list before each page but the first."
            )
            .query("end", Schema.choice("null", "empty", "absent"), "How the last page indicates the end of the list.")
            .query("links", Schema.choice("relative", "absolute", "query"), "The form of page URLs.")
            .query("foreign", Schema.text(8...310), "The origin of the URL of the next page.")
            .query("empty", Schema.integer(2...1000), "Every n-th page has no items although others follow.")
            .query("repeat", Schema.choice("0", "1", "page", "cursor"), "Repeats the first page or the cursor."))
    }

    private static func faults(_ list: DescribedOperation) -> DescribedOperation {
        list.query("delay", Schema.integer(0...5000), "The delay of the response in milliseconds.")
            .joinedQuery("fail", Schema.id, atMost: ListFaults.pagesLimit, "The numbers of pages that fail, from 1.")
            .joinedQuery(
                "rate", Schema.id, atMost: ListFaults.pagesLimit, "The numbers of pages that fail with 429."
            )
            .query("times", Schema.integer(0...1_000_000), "How often each of these pages fails. The default is 1.")
            .query("status", Schema.integer(400...599), "The status of failures. The default is 503.")
            .query("retry_after", Schema.number(0...3600), "The seconds in Retry-After.")
            .query("drop", Schema.choice("0", "1"), "1: pages fail without a response.")
    }
}
