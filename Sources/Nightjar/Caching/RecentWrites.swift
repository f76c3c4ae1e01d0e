import Synchronization

/// Which URLs were written to of late, by any client of a cache: an answer that was asked for before a write, and comes
/// behind it, may tell of what was there before. Any thread.
///
/// Who writes notes it before anything is taken back, and who stores asks after it has stored: so one of them sees the other.
final class RecentWrites: Sendable {
    typealias Moment = UInt64

    private struct Table {
        var last: [String: Moment] = [:]
        /// Whatever was asked for before it may be from before a write that is forgotten.
        var horizon: Moment = 0
    }

    /// Counts writes.
    private let count = Atomic<Moment>(0)
    private let table = Mutex(Table())

    var now: Moment { count.load(ordering: .acquiring) }

    func note(_ url: String) {
        table.withLock { table in
            let moment = count.add(1, ordering: .acquiringAndReleasing).newValue
            if table.last.count >= RecentWrites.most {
                table.last.removeAll()
                table.horizon = moment
            }
            table.last[url] = moment
        }
    }

    /// Whether the URL may have been written to since.
    func mayHaveChanged(_ url: String, since moment: Moment) -> Bool {
        guard moment < now else { return false }
        return table.withLock { moment < $0.horizon || $0.last[url].map { moment < $0 } ?? false }
    }

    private static let most = 1024
}
