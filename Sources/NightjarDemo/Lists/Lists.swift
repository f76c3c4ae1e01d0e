import NIOCore
import NIOHTTP1

/// `/v1/lists/{set}`: data sets of any size, paginated in all styles. Used only on the server's event loop.
///
/// The first request for a set creates it with `count` items. Tests with different sets therefore do not affect each
/// other. ``ListQuery`` describes the options.
final class Lists: Resettable {
    /// Clients choose names, so the oldest sets are dropped.
    private static let maximumSets = 100
    static let counts = 0...1_000_000
    private static let defaultCount = 1000

    private var sets = BoundedTable<String, ListSet>(capacity: Lists.maximumSets)

    func add(to router: inout Router) {
        for style in ListStyle.allCases {
            router.on(.GET, "/v1/lists/{set}/\(style.rawValue)") { [self] request throws(Problem) in
                try page(request, style)
            }
        }
        router.on(.POST, "/v1/lists/{set}/cursor", search)
        router.on(.GET, "/v1/lists/{set}", read)
        router.on(.DELETE, "/v1/lists/{set}", delete)
        router.on(.GET, "/v1/lists/{set}/survivors", survivors)
        router.on(.GET, "/v1/lists/{set}/items/{id}", item)
    }

    func reset() { sets.removeAll() }

    // MARK: Pages

    private func page(_ request: Request, _ style: ListStyle) throws(Problem) -> Response {
        let query = try ListQuery(request, style)
        let set = try set(of: request)
        let position = try ListPosition(request, style, query, of: set)
        if let listResponse = query.faults.respond(page: position.page, earlier: set.failureCount(page: position.page))
        {
            set.noteFailure(page: position.page)
            return finish(listResponse, request, style, query, set, position, itemCount: 0)
        }
        if position.isFirst {
            set.beginTraversal()
        } else if let changes = query.changes {
            try set.change(changes, at: position.place, isDescending: query.isDescending)
        }
        var page = set.page(
            at: position.place, number: position.page, limit: query.limit, isDescending: query.isDescending)
        if let every = query.emptyEvery, position.page % every == 0, case .behind(let cursor) = position.place {
            let next = ListCursor(last: cursor.last, page: position.page + 1)
            page = ListSet.Page(ids: [], offset: page.offset, total: page.total, next: next)
        }
        let listResponse = ListResponse(style: style, query: query, request: request, page: page, position: position)
        if query.repetition == .cursor, let next = page.next { set.remembered = next }
        return finish(listResponse.response, request, style, query, set, position, itemCount: page.ids.count)
    }

    /// Responds as to a GET request whose query has the members of the JSON body.
    private func search(_ request: Request) throws(Problem) -> Response {
        var request = request
        guard case .object(let members) = try request.jsonObject() else { return try page(request, .cursor) }
        for member in members {
            switch member.value {
            case .string(let text): request.target.query.append(.init(name: member.name, value: text))
            case .integer(let number): request.target.query.append(.init(name: member.name, value: String(number)))
            case .null: continue
            default: throw Problem(.badRequest, "\(member.name) must be a string, an integer or null")
            }
        }
        return try page(request, .cursor)
    }

    private func finish(
        _ response: Response, _ request: Request, _ style: ListStyle, _ query: ListQuery, _ set: ListSet,
        _ position: ListPosition, itemCount: Int
    ) -> Response {
        let text = request.head.uri.drop { $0 != "?" }.dropFirst().prefix(300)
        set.note(
            ListSet.Query(
                style: style, text: String(text), page: position.page, itemCount: itemCount,
                status: response.isDropped ? 0 : Int(response.status.code)))
        var response = response
        response.delay = query.delay
        return response
    }

    // MARK: Sets

    /// Returns the log of a set: the latest requests, as received by the server.
    private func read(_ request: Request) throws(Problem) -> Response {
        let (name, set) = try known(request)
        return .json([
            "set": .string(name), "count": .int(set.items.originalCount), "total": .int(set.items.count),
            "requests": .int(set.requestCount), "last": set.queries.last?.json ?? .null,
            "log": .array(set.queries.map(\.json)),
        ])
    }

    private func delete(_ request: Request) throws(Problem) -> Response {
        sets.remove(try known(request).name)
        return Response(.noContent)
    }

    /// Returns the data from which a client can determine the initial items that still exist: the first `count`
    /// multiples of `step`, except the deleted ones. A traversal must have returned all of these, and may have returned
    /// inserted items.
    private func survivors(_ request: Request) throws(Problem) -> Response {
        let items = try known(request).set.items
        return .json([
            "count": .int(items.originalCount), "step": .int(ListItems.step),
            "deleted": .array(items.deleted.values.map(JSON.int)),
            "inserted": .array(items.inserted.values.map(JSON.int)),
        ])
    }

    private func item(_ request: Request) throws(Problem) -> Response {
        let set = try known(request).set
        let id = try request.id(of: "item")
        guard set.items.contains(id) else { throw Problem.notFound("item", id) }
        return .json(ListResponse.item(id))
    }

    private func known(_ request: Request) throws(Problem) -> (name: String, set: ListSet) {
        let name = request.parameters["set"] ?? ""
        guard let set = sets[name] else {
            throw Problem(.notFound, "unknown set; the first request for one of its pages creates it")
        }
        return (name, set)
    }

    /// Returns the set that a request for a page names. Creates the set if necessary.
    private func set(of request: Request) throws(Problem) -> ListSet {
        let name = request.parameters["set"] ?? ""
        guard name.utf8.count <= 100 else { throw Problem(.notFound, "a set's name has at most 100 bytes") }
        let count = try request.query("count", in: Lists.counts, or: Lists.defaultCount)
        guard let set = sets[name] else {
            let made = ListSet(name: name, count: count)
            sets.set(made, for: name)
            return made
        }
        guard request.query("count") == nil || set.items.originalCount == count else {
            throw Problem(
                .conflict, "this set was created with \(set.items.originalCount) items; delete it to start again")
        }
        return set
    }
}

extension ListSet.Query {
    fileprivate var json: JSON {
        [
            "style": .string(style.rawValue), "query": .string(text), "page": .int(page), "items": .int(itemCount),
            "status": .int(status),
        ]
    }
}
