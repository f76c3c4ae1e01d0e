/// The items of a data set, ordered by identifier.
///
/// The initial items are computed. Only changes are stored, so a set of a million items takes little memory.
struct ListItems {
    /// The distance between initial identifiers, which leaves room for insertions.
    static let step = 1000

    /// The number of initial items, whose identifiers are `step`, 2 `step`, and so on.
    let originalCount: Int
    /// The identifiers of all items that were inserted.
    private(set) var inserted = SortedNumbers()
    /// The identifiers of all items that were deleted, initial or inserted.
    private(set) var deleted = SortedNumbers()

    init(count: Int) {
        originalCount = count
    }

    var count: Int { originalCount + inserted.count - deleted.count }

    /// The number of insertions and deletions.
    var changeCount: Int { inserted.count + deleted.count }

    /// A number larger than all identifiers that have been assigned.
    var end: Int { max(originalCount * ListItems.step, inserted.last ?? 0) + 1 }

    func contains(_ id: Int) -> Bool { wasThere(id) && !deleted.contains(id) }

    /// Returns the number of items with a smaller identifier.
    ///
    /// - Parameter id: from 0 to ``end``.
    func countBelow(_ id: Int) -> Int {
        let originals = min(originalCount, max(0, id - 1) / ListItems.step)
        return originals + inserted.countBelow(id) - deleted.countBelow(id)
    }

    /// Returns the identifier of the item at an index. Nil if there is none.
    func id(at index: Int) -> Int? {
        guard (0..<count).contains(index) else { return nil }
        // The binary search finds the smallest identifier up to which there are more than `index` items.
        var low = 0
        var high = end
        while low < high {
            let middle = (low + high) / 2
            if countBelow(middle + 1) > index { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Returns the identifiers of the items in a range of indices. Indices beyond the last item are ignored.
    func ids(at range: Range<Int>) -> [Int] {
        let places = range.clamped(to: 0..<count)
        guard !places.isEmpty, var next = id(at: places.lowerBound) else { return [] }
        var ids: [Int] = []
        ids.reserveCapacity(places.count)
        var insertion = inserted.countBelow(next)
        while ids.count < places.count {
            if !deleted.contains(next) { ids.append(next) }
            while insertion < inserted.count, inserted.values[insertion] <= next { insertion += 1 }
            // The next initial item, or an inserted item before it.
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

    /// Inserts an item with the first unused identifier from `id` on.
    mutating func insert(near id: Int) {
        var id = max(1, id)
        while wasThere(id) { id += 1 }
        inserted.insert(id)
    }

    /// Deletes the item at an index. Has no effect if the index is beyond the last item.
    mutating func delete(at index: Int) {
        if let id = id(at: index) { deleted.insert(id) }
    }

    private func wasThere(_ id: Int) -> Bool {
        id > 0 && id % ListItems.step == 0 && id / ListItems.step <= originalCount || inserted.contains(id)
    }
}
