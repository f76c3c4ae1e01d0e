/// The state of the names under `/cache`. Used on the server's loop.
final class CacheTable: Resettable {
    struct Entry {
        /// Starts at 1; each change increments it.
        var version = 1
        /// Seconds since 1970: when the name was first used or last changed.
        var changedAt: Int
        /// The number of read requests.
        var reads = 0
    }

    /// Clients choose the names, so the oldest names are forgotten and start again.
    static let namesKept = 10_000

    private var entries = BoundedTable<String, Entry>(capacity: CacheTable.namesKept)

    subscript(name: String) -> Entry {
        entries[name] ?? Entry(changedAt: CalendarTime.now())
    }

    /// Counts one more read of `name`.
    func read(_ name: String) -> Entry {
        var entry = self[name]
        entry.reads += 1
        entries.set(entry, for: name)
        return entry
    }

    func change(_ name: String) -> Entry {
        var entry = self[name]
        entry.version += 1
        entry.changedAt = CalendarTime.now()
        entries.set(entry, for: name)
        return entry
    }

    func forget(_ name: String) { entries.remove(name) }

    func reset() { entries.removeAll() }
}
