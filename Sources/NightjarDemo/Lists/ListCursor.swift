/// The position of a client in a list, as an opaque text that the client sends back.
///
/// The cursor contains an identifier, not an index. Insertions and deletions before the position therefore neither
/// repeat nor skip items. The page number is used only for the log and for simulated faults.
struct ListCursor: Equatable {
    /// The identifier of the last returned item, which may have been deleted since. Nil at the start.
    let last: Int?
    /// The number of the page to return, from 1.
    let page: Int

    static let start = ListCursor(last: nil, page: 1)

    init(last: Int?, page: Int) {
        self.last = last
        self.page = page
    }

    /// Parses a cursor. Nil if the text is invalid.
    init?(_ text: String) {
        guard let bytes = Base64.decode(text), let plain = String(validating: bytes, as: UTF8.self) else {
            return nil
        }
        let parts = plain.split(separator: ">", omittingEmptySubsequences: false)
        guard parts.count == 2, let page = Int(parts[1]), (1...ListCursor.limit).contains(page) else { return nil }
        if parts[0].isEmpty {
            last = nil
        } else {
            guard let id = Int(parts[0]), (0...ListCursor.limit).contains(id) else { return nil }
            last = id
        }
        self.page = page
    }

    /// The cursor in Base64, with `=` or `+` in many cases, to detect clients that do not escape it in a query.
    var text: String { Base64.encode(Array("\(last.map(String.init) ?? "")>\(page)".utf8)) }

    /// A limit for the numbers of a cursor, far larger than any identifier.
    private static let limit = 1 << 40
}
