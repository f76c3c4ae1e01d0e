import NightjarStorage
import Synchronization

/// The changes that a cache object has made, for any of its clients, and those of others that it has read: a response that
/// was requested before a change, and arrives after it, may say what was there before. Any thread.
///
/// A writer notes its change before it changes an entry, and whoever stores asks before and after: so one of them sees the
/// other.
final class RecentWrites: Sendable {
    private struct State {
        var changes = LocalChanges<[UInt8]>()
        var tier = MemoryTier()
    }

    /// The count of changes, for those who only want to know that there are none.
    private let count = Atomic<UInt64>(0)
    private let state = Mutex(State())

    /// The changes that are known now, for a request that is about to be sent.
    var moment: CacheMoment {
        state.withLock { CacheMoment(index: $0.tier.index, shared: $0.tier.seen, local: $0.changes.count) }
    }

    /// The changes that an entry which is read from the index now is known to respect.
    var momentInIndex: CacheMoment {
        state.withLock { CacheMoment(index: $0.tier.index, shared: $0.tier.seen, local: $0.changes.countInIndex) }
    }

    /// - Parameters:
    ///   - url: nil: the entries of more than one URL are concerned.
    ///   - isWritten: there is no index, so ``wrote(_:)`` is not called.
    /// - Returns: the ticket of the change.
    func note(_ effect: ChangeEffect, _ url: String?, isWritten: Bool) -> UInt64 {
        let name = url.map { CacheChange.name(ofURL: $0) }
        return state.withLock { state in
            state.changes.note(effect, name, isWritten: isWritten)
            count.store(state.changes.count, ordering: .releasing)
            return state.changes.count
        }
    }

    /// The change is in the index, or nothing is found there before it is.
    func wrote(_ ticket: UInt64) { state.withLock { $0.changes.wrote(ticket) } }

    /// Whether a response may be stored in memory that was requested at `moment`.
    func verdict(_ url: String, since moment: CacheMoment) -> StoreVerdict {
        guard moment.local < count.load(ordering: .acquiring) else { return .asIs }
        let name = CacheChange.name(ofURL: url)
        return state.withLock { $0.changes.verdict(name, since: moment) }
    }

    // MARK: Those of others, on the disk's thread

    var tier: MemoryTier { state.withLock { $0.tier } }

    /// - Parameter changes: nil: they are not known, and may concern anything.
    func note(_ changes: [CacheChange]?) {
        state.withLock { state in
            if let changes {
                for change in changes { state.changes.note(change.effect, change.url) }
            } else {
                state.changes.note(.removes, nil)
            }
            count.store(state.changes.count, ordering: .releasing)
        }
    }

    func caughtUp(with log: ChangeLog) { state.withLock { $0.tier.caughtUp(with: log) } }
    func lostIndex() { state.withLock { $0.tier.lostIndex() } }
}
