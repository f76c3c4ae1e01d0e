import NIOCore

/// A dictionary with limited capacity. A new entry replaces the oldest one.
///
/// It holds everything that clients can make the server store, so that no client can exhaust its memory.
struct BoundedTable<Key: Hashable, Value> {
    let capacity: Int
    private var values: [Key: Value] = [:]
    private var order = CircularBuffer<Key>()

    /// - Parameter capacity: Greater than zero.
    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { values.count }

    /// Oldest first.
    var entries: [(key: Key, value: Value)] {
        order.compactMap { key in values[key].map { (key, $0) } }
    }

    subscript(key: Key) -> Value? { values[key] }

    /// Replacing an entry does not change its age.
    mutating func set(_ value: Value, for key: Key) {
        if values.updateValue(value, forKey: key) == nil { added(key) }
    }

    /// Changes the entry in place, after adding `fallback` if there is none.
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
