/// An index of object members in one JSON text. Each object is indexed once, on first access, because the detection
/// tries about a hundred names and a page may have several megabytes.
///
/// Stores only the objects on the requested paths, and up to ``limit`` members of each.
final class MemberIndex {
    private struct Members {
        var list: [(name: String, value: Range<Int>)]
        /// The members by the bytes of their names (RFC 6901 section 4). If names repeat, the first member is used.
        var places: [[UInt8]: Range<Int>]
        var isWhole: Bool
    }

    private let ranges: JSONRanges
    /// The objects by the offset at which they begin.
    private var objects: [Int: Members] = [:]
    /// The number of objects indexed.
    var passes: Int { objects.count }

    /// The maximum number of members stored per object. An object that contains a list has about twelve members. Larger
    /// objects are usually keyed by ID.
    static let limit = 4096

    init(_ ranges: JSONRanges) { self.ranges = ranges }

    /// Returns the value at `tokens` within the value at `range`. Returns nil if there is none.
    ///
    /// - Parameter amongFirst: look only at the first ``limit`` members of an object, so that no lookup requires
    ///   another scan.
    func value(at tokens: [String], in range: Range<Int>, amongFirst: Bool = false) -> Range<Int>? {
        var range = range
        for token in tokens {
            guard let found = child(token, of: range, amongFirst) else { return nil }
            range = found
        }
        return range
    }

    /// Returns the members of the object at `range` in order, up to ``limit``. Returns an empty array if the value is
    /// not an object.
    func members(of range: Range<Int>) -> [(name: String, value: Range<Int>)] { object(range)?.list ?? [] }

    private func child(_ token: String, of range: Range<Int>, _ amongFirst: Bool) -> Range<Int>? {
        guard let object = object(range) else { return ranges.value(at: JSONPointer(tokens: [token]), in: range) }
        if let found = object.places[Array(token.utf8)] { return found }
        return object.isWhole || amongFirst ? nil : ranges.value(at: JSONPointer(tokens: [token]), in: range)
    }

    private func object(_ range: Range<Int>) -> Members? {
        if let known = objects[range.lowerBound] { return known }
        guard var list = ranges.members(of: range, limit: MemberIndex.limit + 1) else { return nil }
        let isWhole = list.count <= MemberIndex.limit
        if !isWhole { list.removeLast() }
        let places = Dictionary(list.map { (Array($0.name.utf8), $0.value) }, uniquingKeysWith: { first, _ in first })
        let object = Members(list: list, places: places, isWhole: isWhole)
        objects[range.lowerBound] = object
        return object
    }
}
