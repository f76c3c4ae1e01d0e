/// Where a walk has come to, as the opaque text that a client sends back.
///
/// It names an identifier and not a place, so that nothing is given twice or left out when items come and go in front of
/// it, and also the number of the page, which only the faults on request look at.
struct ListCursor: Equatable {
    /// The identifier of the last item that was given, whether or not there is still such an item; nil at the start.
    let last: Int?
    /// Of the page that it asks for, from 1.
    let page: Int

    static let start = ListCursor(last: nil, page: 1)

    init(last: Int?, page: Int) {
        self.last = last
        self.page = page
    }

    /// Nil where the text was not given by ``text``.
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

    /// Base64 with padding, and often with a `+`: a client that puts it into a query as it is goes astray.
    var text: String { Base64.encode(Array("\(last.map(String.init) ?? "")>\(page)".utf8)) }

    /// Far above what a set can have.
    private static let limit = 1 << 40
}
