/// A set of byte positions, as sorted ranges that neither overlap nor touch.
package struct RangeSet: Sendable, Equatable {
    package private(set) var ranges: [Range<Int>] = []

    package init() {}

    package init(_ range: Range<Int>) { insert(range) }

    package var isEmpty: Bool { ranges.isEmpty }
    /// The number of positions.
    package var count: Int { ranges.reduce(0) { $0 + $1.count } }
    /// The position after the last one; 0 if the set is empty.
    package var end: Int { ranges.last?.upperBound ?? 0 }
    /// The end of the range that begins at 0; 0 if there is none.
    package var prefixEnd: Int { ranges.first.map { $0.lowerBound == 0 ? $0.upperBound : 0 } ?? 0 }

    package func contains(_ range: Range<Int>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }

    package mutating func insert(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        // The common case: the data follows the last range.
        if let last = ranges.last, last.upperBound == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            return
        }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        var after = first
        var merged = range
        while after < ranges.count, ranges[after].lowerBound <= merged.upperBound {
            merged =
                min(merged.lowerBound, ranges[after].lowerBound)..<max(merged.upperBound, ranges[after].upperBound)
            after += 1
        }
        ranges.replaceSubrange(first..<after, with: [merged])
    }

    package mutating func remove(_ range: Range<Int>) {
        guard !range.isEmpty else { return }
        ranges = ranges.flatMap { old -> [Range<Int>] in
            guard old.overlaps(range) else { return [old] }
            var left: [Range<Int>] = []
            if old.lowerBound < range.lowerBound { left.append(old.lowerBound..<range.lowerBound) }
            if range.upperBound < old.upperBound { left.append(range.upperBound..<old.upperBound) }
            return left
        }
    }

    package func union(_ other: RangeSet) -> RangeSet {
        var result = self
        for range in other.ranges { result.insert(range) }
        return result
    }

    package func intersection(_ other: Range<Int>) -> RangeSet {
        var result = RangeSet()
        for range in ranges where range.overlaps(other) { result.insert(range.clamped(to: other)) }
        return result
    }

    package func intersection(_ other: RangeSet) -> RangeSet {
        var result = RangeSet()
        var (one, two) = (0, 0)
        while one < ranges.count, two < other.ranges.count {
            let (first, second) = (ranges[one], other.ranges[two])
            if first.overlaps(second) { result.ranges.append(first.clamped(to: second)) }
            if first.upperBound < second.upperBound { one += 1 } else { two += 1 }
        }
        return result
    }

    /// Returns the first range of positions below `limit` that the set does not contain, or nil.
    package func firstGap(below limit: Int) -> Range<Int>? {
        var start = 0
        for range in ranges {
            if start < range.lowerBound { break }
            start = range.upperBound
        }
        guard start < limit else { return nil }
        let end = ranges.first { $0.lowerBound > start }?.lowerBound ?? limit
        return start..<min(end, limit)
    }
}
