/// How a list goes on, nothing left open: what the caller has set, and what was found out from the first answer.
struct PagePlan: Sendable, Equatable {
    /// Never ``Pagination/Style/guess``, but for a list of one page.
    var style: Pagination.Style
    var items: JSONPointer
    /// Of cursor and next.
    var next: JSONPointer?
    /// The query item of the style.
    var parameter = ""
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
    private let members = KnownMembers()

    init(headers: Headers, links: [LinkField], ranges: JSONRanges, document: Range<Int>?, number: Int) {
        self.headers = headers
        self.links = links
        self.ranges = ranges
        self.document = document
        self.number = number
    }

    func find(_ pointer: JSONPointer) -> Range<Int>? {
        guard var range = document else { return nil }
        for token in pointer.tokens {
            let found =
                PageHints.names.contains(token) && ranges.first(range) == UInt8(ascii: "{")
                ? members.of(range, in: ranges)[token] : ranges.value(at: JSONPointer(tokens: [token]), in: range)
            guard let found else { return nil }
            range = found
        }
        return range
    }

    func find(_ path: [String]) -> Range<Int>? { find(JSONPointer(tokens: path)) }

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
        guard let range = find(pointer), let first = ranges.first(range) else { return .absent }
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

/// What the names of ``PageHints`` stand for in the objects of an answer. A guess asks for two hundred of them, and a page
/// may have megabytes: it is gone through once.
private final class KnownMembers {
    private var objects: [Int: [String: Range<Int>]] = [:]

    func of(_ range: Range<Int>, in ranges: JSONRanges) -> [String: Range<Int>] {
        if let known = objects[range.lowerBound] { return known }
        let members = ranges.members(called: PageHints.names, of: range)
        objects[range.lowerBound] = members
        return members
    }
}
