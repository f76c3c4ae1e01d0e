/// Orders the uses of the credential store by one client.
///
/// Entries that save a new token or a logout run in order. They do not wait for refreshes, because a refresh may take a
/// minute. All other entries, such as refreshes, wait for the earlier entries and depend on the results.
public struct LoginUpdateQueue: Sendable {
    public typealias ID = UInt64

    private struct Entry {
        let id: ID
        let changesLogin: Bool
        var isRunning = false
    }

    /// Running and waiting entries in order of arrival.
    private var entries: [Entry] = []
    private var lastID: ID = 0

    public init() {}

    public var isEmpty: Bool { entries.isEmpty }

    public mutating func append(changesLogin: Bool) -> ID {
        lastID += 1
        entries.append(Entry(id: lastID, changesLogin: changesLogin))
        return lastID
    }

    /// Returns the next entry that can start now. The caller starts the entry and calls this function again until the
    /// result is nil.
    public mutating func next() -> ID? {
        var (isChanging, isRefreshing) = (false, false)
        for index in entries.indices {
            let entry = entries[index]
            let mustWait = entry.changesLogin ? isChanging : isChanging || isRefreshing
            if !entry.isRunning, !mustWait {
                entries[index].isRunning = true
                return entry.id
            }
            if entry.changesLogin { isChanging = true } else { isRefreshing = true }
        }
        return nil
    }

    public mutating func remove(_ id: ID) { entries.removeAll { $0.id == id } }
}
