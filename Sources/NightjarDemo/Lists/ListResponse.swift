import NIOCore
import NIOHTTP1

/// A page as a response in the form of its style.
struct ListResponse {
    let style: ListStyle
    let query: ListQuery
    let request: Request
    let page: ListSet.Page
    let position: ListPosition

    /// 2026-01-01T00:00:00Z. Initial item n was created n minutes later.
    private static let start = 1_767_225_600
    private static let minute = 60

    static func item(_ id: Int) -> JSON {
        let isOriginal = id % ListItems.step == 0
        let number = id / ListItems.step
        let createdAt = CalendarTime(seconds: start + number * minute + id % ListItems.step * minute / ListItems.step)
        return [
            "id": .int(id), "name": .string(isOriginal ? "Item \(number)" : "Item \(number), added as \(id)"),
            "created_at": .string(createdAt.timestamp),
        ]
    }

    var response: Response {
        let items = JSON.array(page.ids.map(ListResponse.item))
        var response: Response
        switch style {
        case .page:
            let size = query.limit
            response = .json(
                document(
                    (["results"], items), ("page", .int(position.page - 1 + query.firstPage)), ("per_page", .int(size)),
                    total("total", page.total), total("total_pages", (page.total + size - 1) / size)))
        case .offset:
            response = .json(
                document(
                    (["items"], items), ("offset", .int(page.offset)), ("limit", .int(query.limit)),
                    total("total", page.total)))
        case .after:
            response = .json(document((["data"], items), ("has_more", .bool(page.next != nil))))
        case .cursor:
            response = .json(placing(next(cursor), at: ["next_cursor"], in: document((["results"], items))))
        case .next:
            response = .json(placing(next(page.next.map { _ in url }), at: ["next"], in: document((["value"], items))))
        case .link:
            response = .json(items)
            response.headers.add(name: "Link", value: links)
            if let name = query.nextHeader, page.next != nil { response.headers.add(name: name, value: url) }
        case .token:
            response = .json(document((["items"], items)))
            switch (cursor, query.end) {
            case (let cursor?, _): response.headers.add(name: "X-Next-Token", value: cursor)
            case (nil, .empty): response.headers.add(name: "X-Next-Token", value: "")
            case (nil, .null), (nil, .absent): break
            }
        }
        // Responses from a cache would be missing in the log.
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }

    // MARK: Bodies

    private typealias Field = (name: String, value: JSON)?

    /// Returns an object with the items at their path and the other members.
    private func document(_ items: (path: [String], value: JSON), _ fields: Field...) -> JSON {
        let document = JSON.object([]).placing(items.value, at: query.itemsPath ?? items.path)
        return fields.reduce(document) { document, field in
            field.map { document.placing($0.value, at: [$0.name]) } ?? document
        }
    }

    private func total(_ name: String, _ value: Int) -> Field { query.includesTotal ? (name, .int(value)) : nil }

    /// Returns the value of the member for the next page. Nil if the member is omitted.
    private func next(_ text: String?) -> JSON? {
        if let text { return .string(text) }
        switch query.end {
        case .null: return .null
        case .empty: return ""
        case .absent: return nil
        }
    }

    private func placing(_ next: JSON?, at path: [String], in document: JSON) -> JSON {
        next.map { document.placing($0, at: query.nextPath ?? path) } ?? document
    }

    // MARK: Next page

    private var cursor: String? {
        page.next.map { query.repetition == .cursor ? ListPosition.repeated : $0.text }
    }

    private var url: String { url(to: cursor) }

    /// Returns the URL of the request with another position, or without a position if `cursor` is nil.
    private func url(to cursor: String?) -> String {
        var pairs = request.target.query.filter { !ListStyle.positions.contains($0.name) }
            .map { "\(Target.encode($0.name))=\(Target.encode($0.value))" }
        if let cursor { pairs.append("cursor=\(Target.encode(cursor))") }
        let path = request.target.segments.map(Target.encode).joined(separator: "/")
        let query = "?" + pairs.joined(separator: "&")
        if let origin = self.query.foreignOrigin { return "\(origin)/\(path)\(query)" }
        switch self.query.links {
        case .relative: return "/\(path)\(query)"
        case .absolute: return "http://\(request.head.headers.first(name: "host") ?? "127.0.0.1")/\(path)\(query)"
        case .query: return query
        }
    }

    /// A Link field (RFC 8288) with constructs that naive parsers get wrong: a title with a comma, a semicolon and a
    /// pseudo link, and a relation with two types.
    private var links: String {
        let first = "<\(url(to: nil))>; rel=\"first start\"; title=\"one, two; <three>; rel=next\""
        return page.next == nil ? first : "<\(url)>; rel=\"next\", \(first)"
    }
}

extension JSON {
    /// Returns the object with a value at a path of names. Missing objects on the path are created. Values on the path
    /// that are not objects are replaced.
    func placing(_ value: JSON, at path: [String]) -> JSON {
        guard let name = path.first else { return value }
        var members: [Member] = if case .object(let own) = self { own } else { [] }
        let inner = (self[name] ?? .null).placing(value, at: Array(path.dropFirst()))
        members.removeAll { $0.name == name }
        members.append(Member(name: name, value: inner))
        return .object(members)
    }
}
