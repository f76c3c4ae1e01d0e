/// A change of a data set between two pages.
enum ListChange: String, CaseIterable {
    case insert, delete, both

    /// Changes `items` before, at or after the current position of a client.
    ///
    /// - Parameters:
    ///   - position: the identifier that the client has reached, from 0 to the end of the items.
    ///   - ahead: true to insert new items before all others in descending order, as in a news feed.
    func apply(to items: inout ListItems, position: Int, ahead: Bool, _ random: inout SplitMix64) {
        if self != .delete {
            items.insert(near: ahead ? items.end : ListChange.id(around: position, end: items.end, &random))
        }
        if self != .insert, items.count > 0 {
            let index = ListChange.index(around: items.countBelow(position), count: items.count, &random)
            items.delete(at: index)
        }
    }

    private static func id(around position: Int, end: Int, _ random: inout SplitMix64) -> Int {
        switch random.below(3) {
        case 0: 1 + random.below(max(1, position))
        case 1: max(1, position - ListItems.step + random.below(2 * ListItems.step))
        default: position + 1 + random.below(max(1, end - position))
        }
    }

    /// Returns a random index before, near or after `index`, from 0 to below `count`. `count` must be above zero.
    private static func index(around index: Int, count: Int, _ random: inout SplitMix64) -> Int {
        let chosen =
            switch random.below(3) {
            case 0: random.below(max(1, index))
            // The item of the cursor, or one next to it.
            case 1: index - 1 + random.below(3)
            default: index + random.below(max(1, count - index))
            }
        return min(max(0, chosen), count - 1)
    }
}
