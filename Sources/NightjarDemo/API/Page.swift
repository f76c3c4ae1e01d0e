/// Splits a list into pages: `?page=2&per_page=10`. The first page is 1.
struct Page {
    static let defaultSize = 10
    static let sizes = 1...100

    let number: Int
    let size: Int

    init(_ request: Request) throws(Problem) {
        number = try request.query("page", in: 1...1_000_000, or: 1)
        size = try request.query("per_page", in: Page.sizes, or: Page.defaultSize)
    }

    /// Returns a response with this page of `rows`. A page after the last page is empty. The response has no
    /// Last-Modified, because deletions leave no timestamp.
    func response<Element>(
        of rows: [Element], _ json: (Element) -> JSON, to request: Request
    ) throws(Problem) -> Response {
        let results = rows.dropFirst((number - 1) * size).prefix(size).map(json)
        let document: JSON = [
            "results": .array(results),
            "page": .int(number),
            "per_page": .int(size),
            "total": .int(rows.count),
            "total_pages": .int((rows.count + size - 1) / size),
        ]
        return try Representation.json(document, control: Representation.validated).respond(request)
    }
}

/// Orders a list: `?sort=title`, or `?sort=-title` for descending order.
struct Sort<Element: Row> {
    typealias Order = (Element, Element) -> Bool

    private let order: Order

    /// - Parameter keys: the comparisons by name. Rows that compare equal are ordered by identifier.
    init(_ request: Request, by keys: [String: Order]) throws(Problem) {
        let text = request.query("sort") ?? "id"
        let descending = text.hasPrefix("-")
        let name = descending ? String(text.dropFirst()) : text
        let known: [String: Order] = keys.merging(["id": { $0.id < $1.id }]) { key, _ in key }
        guard let ascending = known[name] else {
            let names = known.keys.sorted().joined(separator: ", ")
            throw Problem.query("sort", "must be one of \(names), prefixed with - for descending order")
        }
        order = descending ? { ascending($1, $0) } : ascending
    }

    func callAsFunction(_ rows: [Element]) -> [Element] {
        rows.sorted { order($0, $1) || (!order($1, $0) && $0.id < $1.id) }
    }
}
