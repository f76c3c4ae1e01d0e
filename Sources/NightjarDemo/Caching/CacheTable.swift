/// What the server remembers of the names under `/cache`. Lives on the server's loop.
final class CacheTable: Resettable {
    struct Entry {
        /// From 1; each change adds one.
        var version = 1
        /// Seconds since 1970: when the name was first heard of, or changed last.
        var changedAt: Int
        /// How many requests to read it have come.
        var reads = 0
    }

    /// A client chooses the names, so the oldest are forgotten and begin anew.
    static let namesKept = 10_000

    private var entries = BoundedTable<String, Entry>(capacity: CacheTable.namesKept)

    subscript(name: String) -> Entry {
        entries[name] ?? Entry(changedAt: CalendarTime.now())
    }

    /// Counts one more request to read `name`.
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
