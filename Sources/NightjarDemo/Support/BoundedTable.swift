import NIOCore

/// A dictionary with a limited number of entries. When it is full, a new entry replaces the oldest entry.
///
/// Limits the memory that clients can use.
struct BoundedTable<Key: Hashable, Value> {
    let capacity: Int
    private var values: [Key: Value] = [:]
    private var order = CircularBuffer<Key>()

    /// - Parameter capacity: above zero.
    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { values.count }

    /// The entries, oldest first.
    var entries: [(key: Key, value: Value)] {
        order.compactMap { key in values[key].map { (key, $0) } }
    }

    subscript(key: Key) -> Value? { values[key] }

    /// Sets the value of a key. Replacing a value does not change the age of its entry.
    mutating func set(_ value: Value, for key: Key) {
        if values.updateValue(value, forKey: key) == nil { added(key) }
    }

    /// Changes an entry in place. Adds `fallback` first if there is no entry.
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
