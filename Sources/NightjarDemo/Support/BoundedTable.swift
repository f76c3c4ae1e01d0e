import NIOCore

/// A dictionary with room for so many: the oldest entry makes place for a new one.
///
/// What a client can make the server keep goes in here, so that no test and no stranger fills its memory.
struct BoundedTable<Key: Hashable, Value> {
    let capacity: Int
    private var values: [Key: Value] = [:]
    private var order = CircularBuffer<Key>()

    /// - Parameter capacity: above zero.
    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { values.count }

    /// The oldest first.
    var entries: [(key: Key, value: Value)] {
        order.compactMap { key in values[key].map { (key, $0) } }
    }

    subscript(key: Key) -> Value? { values[key] }

    /// An entry that is there already keeps its age.
    mutating func set(_ value: Value, for key: Key) {
        if values.updateValue(value, forKey: key) == nil { added(key) }
    }

    /// Changes the entry in place, after adding `fallback` where there is none.
    mutating func update(_ key: Key, or fallback: @autoclosure () -> Value, _ change: (inout Value) -> Void) {
        if values[key] == nil {
            values[key] = fallback()
            added(key)
        }
        change(&values[key, default: fallback()])
    }

    mutating func remove(_ key: Key) {
        if values.removeValue(forKey: key) != nil { order.removeAll { $0 == key } }
    }

    mutating func removeAll() {
        values = [:]
        order.removeAll()
    }

    private mutating func added(_ key: Key) {
        order.append(key)
        if order.count > capacity, let oldest = order.popFirst() { values[oldest] = nil }
    }
}
