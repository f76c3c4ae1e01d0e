/// A sorted set of numbers.
struct SortedNumbers {
    private(set) var values: [Int] = []

    var count: Int { values.count }
    var last: Int? { values.last }

    func contains(_ number: Int) -> Bool {
        let index = countBelow(number)
        return index < values.count && values[index] == number
    }

    /// Returns the number of elements smaller than `number`, which is the index of `number` or the index at which to
    /// insert it.
    func countBelow(_ number: Int) -> Int {
        var low = 0
        var high = values.count
        while low < high {
            let middle = (low + high) / 2
            if values[middle] < number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Inserts a number. Has no effect if the set contains it.
    mutating func insert(_ number: Int) {
        let index = countBelow(number)
        guard index == values.count || values[index] != number else { return }
        values.insert(number, at: index)
    }
}
