/// The items of a data set, in the order of their identifiers.
///
/// The ones of the start are computed and cost nothing; what came and went since is kept. A million items are a few
/// numbers.
struct ListItems {
    /// The distance between the identifiers of the start, which leaves room for others between them.
    static let step = 1000

    /// How many there were at the start: `step`, 2 `step`, and so on.
    let originalCount: Int
    /// All that were ever added.
    private(set) var inserted = SortedNumbers()
    /// All that were ever taken away, of the start or added.
    private(set) var deleted = SortedNumbers()

    init(count: Int) {
        originalCount = count
    }

    var count: Int { originalCount + inserted.count - deleted.count }

    /// What was added and taken away.
    var changeCount: Int { inserted.count + deleted.count }

    /// Above every identifier that there ever was.
    var end: Int { max(originalCount * ListItems.step, inserted.last ?? 0) + 1 }

    func contains(_ id: Int) -> Bool { wasThere(id) && !deleted.contains(id) }

    /// How many have a smaller identifier.
    ///
    /// - Parameter id: from 0 to ``end``.
    func countBelow(_ id: Int) -> Int {
        let originals = min(originalCount, max(0, id - 1) / ListItems.step)
        return originals + inserted.countBelow(id) - deleted.countBelow(id)
    }

    /// The identifier at a place; nil where there is none.
    func id(at index: Int) -> Int? {
        guard (0..<count).contains(index) else { return nil }
        // The smallest number with more than `index` items up to it is the identifier of one.
        var low = 0
        var high = end
        while low < high {
            let middle = (low + high) / 2
            if countBelow(middle + 1) > index { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// The identifiers at the places of a range, as far as there are any.
    func ids(at range: Range<Int>) -> [Int] {
        let places = range.clamped(to: 0..<count)
        guard !places.isEmpty, var next = id(at: places.lowerBound) else { return [] }
        var ids: [Int] = []
        ids.reserveCapacity(places.count)
        var insertion = inserted.countBelow(next)
        while ids.count < places.count {
            if !deleted.contains(next) { ids.append(next) }
            while insertion < inserted.count, inserted.values[insertion] <= next { insertion += 1 }
            // The next one of the start, or one that was added in front of it.
            let original = next / ListItems.step + 1
            let added = insertion < inserted.count ? inserted.values[insertion] : nil
            guard
                let following = [original <= originalCount ? original * ListItems.step : nil, added].compactMap(\.self)
                    .min()
            else { break }
            next = following
        }
        return ids
    }

    /// Adds the first identifier from `id` on that was never used.
    mutating func insert(near id: Int) {
        var id = max(1, id)
        while wasThere(id) { id += 1 }
        inserted.insert(id)
    }

    /// Takes away the item at a place; does nothing where there is none.
    mutating func delete(at index: Int) {
        if let id = id(at: index) { deleted.insert(id) }
    }

    private func wasThere(_ id: Int) -> Bool {
        id > 0 && id % ListItems.step == 0 && id / ListItems.step <= originalCount || inserted.contains(id)
    }
}
