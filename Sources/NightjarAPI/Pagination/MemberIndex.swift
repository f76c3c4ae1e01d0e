/// Where the members of the objects of one JSON text are, each object looked through once, when it is first asked for: what
/// an answer tells of its list is sought by some hundred names, and a page may have megabytes.
///
/// Holds no more than the objects on the paths that are asked for, ``limit`` members of each.
final class MemberIndex {
    private struct Members {
        var list: [(name: String, value: Range<Int>)]
        /// By the bytes of the name, as RFC 6901 section 4 compares. The first of a name counts.
        var places: [[UInt8]: Range<Int>]
        var isWhole: Bool
    }

    private let ranges: JSONRanges
    /// By where the object begins.
    private var objects: [Int: Members] = [:]
    /// Objects that were looked through.
    var passes: Int { objects.count }

    /// Members of an object that are held. Those around a list are a dozen; more are an object by ids.
    static let limit = 4096

    init(_ ranges: JSONRanges) { self.ranges = ranges }

    /// What `tokens` name in the value at `range`; nil where there is nothing.
    ///
    /// - Parameter amongFirst: of an object the first ``limit`` members alone, so that no name costs a pass.
    func value(at tokens: [String], in range: Range<Int>, amongFirst: Bool = false) -> Range<Int>? {
        var range = range
        for token in tokens {
            guard let found = child(token, of: range, amongFirst) else { return nil }
            range = found
        }
        return range
    }

    /// Names and values of the object at `range`, in order, up to ``limit``; none for what is no object.
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
