import NIOCore

/// The options of a request for a page, except its position. All styles have the same options, but `empty` and
/// `repeat=cursor` require a style whose responses identify the next page.
///
/// - `count`: the number of initial items of the set.
/// - `limit` (style page: also `per_page`): the number of items of a page.
/// - `order`: `id` for ascending identifiers, or `newest` for the newest items first. With `newest`, new items are
///   inserted at the beginning.
/// - `changes`: `insert`, `delete` or `both`, before each page but the first.
/// - `delay`: the delay before each response, in milliseconds.
/// - `empty=3`: every third page has no items, although other pages follow.
/// - `repeat`: with `page` (or `1`), each page equals the first page. With `cursor`, all cursors are equal.
/// - `end`: how the last page indicates the end of the list: `null`, `empty` or `absent`.
/// - `links`: the form of URLs: `relative` (a path), `absolute` or `query`. `foreign`: the origin of URLs.
/// - `next_header`: the name of a field that has the URL of the next page in addition to the Link field (style link).
/// - `shape`, `next_at`: the place of the items and of the next page, such as `data` or `page.items`.
/// - `total=absent`: omits the number of items. `first`: the number of the first page, 0 or 1.
/// - `fail` and `rate`: see ``ListFaults``.
struct ListQuery {
    enum Repetition {
        case none, page, cursor
    }

    enum End: String, CaseIterable {
        case null, empty, absent
    }

    enum Links: String, CaseIterable {
        case relative, absolute, query
    }

    let limit: Int
    let isDescending: Bool
    let changes: ListChange?
    let delay: TimeAmount
    let emptyEvery: Int?
    let repetition: Repetition
    let end: End
    let links: Links
    let foreignOrigin: String?
    let nextHeader: String?
    let itemsPath: [String]?
    let nextPath: [String]?
    let includesTotal: Bool
    let firstPage: Int
    let faults: ListFaults

    static let limits = 1...1000
    private static let defaultLimit = 100

    init(_ request: Request, _ style: ListStyle) throws(Problem) {
        let sizeName = style == .page && request.query("per_page") != nil ? "per_page" : "limit"
        limit = try request.query(sizeName, in: ListQuery.limits, or: ListQuery.defaultLimit)
        isDescending = try request.query("order", oneOf: ["id", "newest"]) == "newest"
        changes = try ListQuery.choice(request, "changes")
        delay = .milliseconds(Int64(try request.query("delay", in: 0...5000, or: 0)))
        emptyEvery = request.query("empty") == nil ? nil : try request.query("empty", in: 2...1000, or: 2)
        guard emptyEvery == nil || style.isOpaque else {
            throw Problem.query("empty", "is available only for styles whose responses identify the next page")
        }
        switch try request.query("repeat", oneOf: ["0", "1", "page", "cursor"]) {
        case "0": repetition = .none
        case "cursor": repetition = .cursor
        default: repetition = .page
        }
        guard repetition != .cursor || style.isOpaque else {
            throw Problem.query("repeat", "can be \"cursor\" only for styles whose responses identify the next page")
        }
        end = try ListQuery.choice(request, "end") ?? .null
        links = try ListQuery.choice(request, "links") ?? .relative
        foreignOrigin = try ListQuery.origin(request)
        nextHeader = request.query("next_header")
        guard
            nextHeader.map({ $0.hasPrefix("X-") && $0.utf8.count <= 64 && $0.utf8.allSatisfy(ListQuery.isOfName) })
                ?? true
        else { throw Problem.query("next_header", "must be a field name that begins with X-") }
        itemsPath = try ListQuery.path(request, "shape")
        nextPath = try ListQuery.path(request, "next_at")
        includesTotal = try request.query("total", oneOf: ["present", "absent"]) == "present"
        firstPage = try request.query("first", in: 0...1, or: 1)
        faults = try ListFaults(request)
    }

    private static func choice<Choice: RawRepresentable & CaseIterable>(
        _ request: Request, _ name: String
    ) throws(Problem) -> Choice? where Choice.RawValue == String {
        guard let text = request.query(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let choices = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw Problem.query(name, "must be one of \(choices)")
        }
        return choice
    }

    /// Reads `foreign`. The allowed characters are limited, because the origin is written into a Link field.
    private static func origin(_ request: Request) throws(Problem) -> String? {
        guard let text = request.query("foreign") else { return nil }
        let scheme = ["http://", "https://"].first { text.hasPrefix($0) }
        let authority = text.dropFirst(scheme?.utf8.count ?? 0)
        guard scheme != nil, (1...300).contains(authority.utf8.count), authority.utf8.allSatisfy(isOfAuthority) else {
            throw Problem.query("foreign", "must be an origin, such as http://127.0.0.1:8080")
        }
        return text
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
    }

    private static func isOfAuthority(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
            UInt8(ascii: "["), UInt8(ascii: "]"):
            true
        default: false
        }
    }

    private static func path(_ request: Request, _ name: String) throws(Problem) -> [String]? {
        guard let text = request.query(name) else { return nil }
        let names = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard text.utf8.count <= 100, names.count <= 4, !names.contains("") else {
            throw Problem.query(name, "must be 1 to 4 names separated by dots")
        }
        return names
    }
}
