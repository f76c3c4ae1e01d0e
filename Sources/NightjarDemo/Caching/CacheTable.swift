/// The state of the names under `/cache`. Used only on the server's event loop.
final class CacheTable: Resettable {
    struct Entry {
        /// The number of the version, from 1. Each change adds one.
        var version = 1
        /// The time of the first request for the name or of its last change, in seconds since 1970.
        var changedAt: Int
        /// The number of requests to read the name.
        var reads = 0
    }

    /// The maximum number of names. Clients choose names, so the oldest names are dropped. They start again with
    /// version 1.
    static let maximumNames = 10_000

    private var entries = BoundedTable<String, Entry>(capacity: CacheTable.maximumNames)

    subscript(name: String) -> Entry {
        entries[name] ?? Entry(changedAt: CalendarTime.now())
    }

    /// Counts a request to read `name`.
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
