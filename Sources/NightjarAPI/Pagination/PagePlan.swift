/// The rules by which a list continues: the caller's options, completed with values from the first response.
struct PagePlan: Sendable, Equatable {
    /// The style. Remains ``Pagination/Style/guess`` only for a list of one page.
    var style: Pagination.Style
    var items: JSONPointer
    /// The location of the cursor or URL, for styles cursor and next.
    var next: JSONPointer?
    /// The query item of the style.
    var parameter = ""
    /// The response field of style header.
    var header = ""
    /// The location of the cursor within the last item, if the ID of the last item is the cursor.
    var lastItem: JSONPointer?
    var more: JSONPointer?
    var total: JSONPointer?
    /// The location of the page number or of the offset, if the response reports it.
    var number: JSONPointer?
    /// The location of the number of the last page.
    var last: JSONPointer?

    init(_ style: Pagination.Style, items: JSONPointer) {
        self.style = style
        self.items = items
    }
}

/// The position of a page in a list. Part of a saved position.
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

    /// The fingerprint of the position. Nil for the first page, for the end, and for query items set by the caller.
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

/// A response with a page of a list.
struct PageResponse {
    let headers: Headers
    let links: [LinkField]
    let ranges: JSONRanges
    /// Nil if the body is empty or consists of white space.
    let document: Range<Int>?
    /// The number of the page, from 1.
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

    /// Returns the range of the value at a guessed location. Considers only the first ``MemberIndex/limit`` members of
    /// an object.
    func hinted(_ path: [String]) -> Range<Int>? {
        document.flatMap { index.value(at: path, in: $0, amongFirst: true) }
    }

    /// Returns the members of the object at `range`, up to ``MemberIndex/limit``. Returns an empty array if the value
    /// is not an object.
    func members(of range: Range<Int>) -> [(name: String, value: Range<Int>)] { index.members(of: range) }

    func isObject(_ pointer: JSONPointer) -> Bool { find(pointer).flatMap(ranges.first) == UInt8(ascii: "{") }

    func isArray(_ range: Range<Int>) -> Bool { ranges.first(range) == UInt8(ascii: "[") }

    /// Returns the integer at `range`, which may be written as a string. Returns nil for other values, and for integers
    /// that are not between 0 and 2^52 - 1.
    func count(_ range: Range<Int>?) -> Int? {
        guard let range, range.count <= PageResponse.longestNumber else { return nil }
        let text = ranges.text(of: range) ?? String(decoding: ranges.bytes(of: range), as: UTF8.self)
        return PageResponse.count(text)
    }

    /// Returns the integer in `text`, or nil if `text` is not an integer between 0 and 2^52 - 1. A double represents
    /// the sum of two such integers exactly.
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

    /// Returns the type of the value at `range`, for messages: "an object".
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

    /// The value found at the location of a cursor or of the URL of the next page.
    enum FoundValue: Equatable {
        case value(String)
        /// Null, false, 0 or an empty string: the list ends.
        case ended
        case absent
    }

    /// Returns the cursor or URL at `pointer`. A number is returned as written.
    ///
    /// - Throws: `decoding` for a value of another type. The message contains `what`, the location and the type found.
    func seek(_ pointer: JSONPointer, _ what: String) throws(NightjarError) -> FoundValue {
        try seek(find(pointer), pointer, what)
    }

    /// - Parameter range: the range of the value at `pointer`.
    func seek(_ range: Range<Int>?, _ pointer: JSONPointer, _ what: String) throws(NightjarError) -> FoundValue {
        guard let range, let first = ranges.first(range) else { return .absent }
        switch first {
        case UInt8(ascii: "\""):
            guard let text = ranges.text(of: range) else { return .absent }
            return text.isEmpty ? .ended : .value(text)
        case UInt8(ascii: "n"), UInt8(ascii: "f"): return .ended
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            // Returned as written, because a double would lose digits.
            let text = String(decoding: ranges.bytes(of: range), as: UTF8.self)
            return text == "0" ? .ended : .value(text)
        case UInt8(ascii: "{"):
            // The `href` member of HAL and JSON:API links.
            let target = ranges.value(at: JSONPointer(tokens: ["href"]), in: range)
            if let target, let text = ranges.text(of: target) { return text.isEmpty ? .ended : .value(text) }
        default: break
        }
        throw NightjarError(
            .decoding,
            "page \(number) has \(typeName(range)) at \(quoted(pointer.description)), where \(what) was expected")
    }

    /// The maximum length of a number in bytes. Longer numbers do not fit 64 bits.
    private static let longestNumber = 24
}
