/// The position of a walk as an opaque text that the client sends back.
///
/// It contains an identifier and not an index, so that no item is repeated or skipped when items before it are inserted
/// or deleted. It also contains the page number, which is used only for requested faults.
struct ListCursor: Equatable {
    /// The identifier of the last returned item, whether or not it still exists; nil at the start.
    let last: Int?
    /// The number of the requested page, starting at 1.
    let page: Int

    static let start = ListCursor(last: nil, page: 1)

    init(last: Int?, page: Int) {
        self.last = last
        self.page = page
    }

    /// Nil if the text was not created by ``text``.
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

    /// Base64 with padding, often with a `+`, so that a client that puts it into a query without encoding fails.
    var text: String { Base64.encode(Array("\(last.map(String.init) ?? "")>\(page)".utf8)) }

    /// Far above the size of a list.
    private static let limit = 1 << 40
}
