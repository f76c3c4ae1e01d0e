/// How a list goes on, nothing left open: what the caller has set, and what was found out from the first answer.
struct PagePlan: Sendable, Equatable {
    /// Never ``Pagination/Style/guess``, but for a list of one page.
    var style: Pagination.Style
    var items: JSONPointer
    /// Of cursor and next.
    var next: JSONPointer?
    /// The query item of the style.
    var parameter = ""
    /// Of style header: the field of the response.
    var header = ""
    /// The cursor is what this names in the last item: no member of the answer has it.
    var lastItem: JSONPointer?
    var more: JSONPointer?
    var total: JSONPointer?
    /// The number of the page, where the answer tells it.
    var number: JSONPointer?
    /// The number of the last page.
    var last: JSONPointer?

    init(_ style: Pagination.Style, items: JSONPointer) {
        self.style = style
        self.items = items
    }
}

/// Where in a list a page is. What a saved position is made of.
enum PagePosition: Sendable, Equatable {
    case first
    case page(Int)
    case offset(Int)
    case cursor(String)
    case url(RequestURL)
    case token(String)
    case query([Item])
    case end

    struct Item: Sendable, Equatable {
        var name: String
        var value: String
    }

    /// Nil for positions that may be repeated: the end, and those that the caller sets.
    var fingerprint: FingerprintSet.Fingerprint? {
        let text: String
        switch self {
        case .first, .query, .end: return nil
        case .page(let number): text = "page \(number)"
        case .offset(let offset): text = "offset \(offset)"
        case .cursor(let cursor): text = "cursor \(cursor)"
        case .token(let token): text = "token \(token)"
        case .url(let url): text = "url \(url.origin.description)\(url.target)"
        }
        return FingerprintSet.Fingerprint(Array(text.utf8))
    }
}

/// An answer with a page of a list, as what reads it sees it.
struct PageAnswer {
    let headers: Headers
    let links: [LinkField]
    let ranges: JSONRanges
    /// Nil: no content.
    let document: Range<Int>?
    /// Counts from 1.
    let number: Int
    private let index: MemberIndex

    init(headers: Headers, ranges: JSONRanges, document: Range<Int>?, number: Int) {
        self.headers = headers
        links = LinkField.parse(headers)
        self.ranges = ranges
        self.document = document
        self.number = number
        index = MemberIndex(ranges)
    }

    func find(_ pointer: JSONPointer) -> Range<Int>? { document.flatMap { index.value(at: pointer.tokens, in: $0) } }

    /// What a hint may be: of an object with very many members, it is one of the first.
    func hinted(_ path: [String]) -> Range<Int>? {
        document.flatMap { index.value(at: path, in: $0, amongFirst: true) }
    }

    /// Names and values of the object at `range`, up to ``MemberIndex/limit``; none for what is no object.
    func members(of range: Range<Int>) -> [(name: String, value: Range<Int>)] { index.members(of: range) }

    func isObject(_ pointer: JSONPointer) -> Bool { find(pointer).flatMap(ranges.first) == UInt8(ascii: "{") }

    func isArray(_ range: Range<Int>) -> Bool { ranges.first(range) == UInt8(ascii: "[") }

    /// A whole number that is not negative, also one in quotes.
    func count(_ range: Range<Int>?) -> Int? {
        guard let range, range.count <= PageAnswer.longestNumber else { return nil }
        let text = ranges.text(of: range) ?? String(decoding: ranges.bytes(of: range), as: UTF8.self)
        return PageAnswer.count(text)
    }

    /// A number that is not negative, with room above it within what doubles hold.
    static func count(_ text: String) -> Int? {
        guard let number = Int(text), number >= 0, number < 1 << 52 else { return nil }
        return number
    }

    func flag(_ range: Range<Int>?) -> Bool? {
        switch range.flatMap(ranges.first) {
        case UInt8(ascii: "t"): true
        case UInt8(ascii: "f"): false
        default: nil
        }
    }

    /// What is at `range`, for messages: "an object".
    func typeName(_ range: Range<Int>?) -> String {
        guard let range, let first = ranges.first(range) else { return "nothing" }
        return switch first {
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "t"), UInt8(ascii: "f"): "a boolean"
        case UInt8(ascii: "n"): "null"
        default: "a number"
        }
    }

    /// What stands where a cursor, or the URL of the next page, may be.
    enum Sought: Equatable {
        case value(String)
        /// It is null, false, 0 or an empty text: the list ends.
        case ended
        case absent
    }

    /// - Throws: `decoding` for what is none, with the pointer and what was found.
    func seek(_ pointer: JSONPointer, _ what: String) throws(NightjarError) -> Sought {
        try seek(find(pointer), pointer, what)
    }

    /// - Parameter range: of what is at `pointer`.
    func seek(_ range: Range<Int>?, _ pointer: JSONPointer, _ what: String) throws(NightjarError) -> Sought {
        guard let range, let first = ranges.first(range) else { return .absent }
        switch first {
        case UInt8(ascii: "\""):
            guard let text = ranges.text(of: range) else { return .absent }
            return text.isEmpty ? .ended : .value(text)
        case UInt8(ascii: "n"), UInt8(ascii: "f"): return .ended
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            // As it is written: a double would lose digits.
            let text = String(decoding: ranges.bytes(of: range), as: UTF8.self)
            return text == "0" ? .ended : .value(text)
        case UInt8(ascii: "{"):
            // HAL and JSON:API.
            let target = ranges.value(at: JSONPointer(tokens: ["href"]), in: range)
            if let target, let text = ranges.text(of: target) { return text.isEmpty ? .ended : .value(text) }
        default: break
        }
        throw NightjarError(
            .decoding,
            "page \(number) has \(typeName(range)) at \(quoted(pointer.description)), where \(what) was expected")
    }

    /// Bytes that a count may have; beyond 64 bits it is none.
    private static let longestNumber = 24
}
