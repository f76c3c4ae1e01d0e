import NightjarStorage
import Synchronization

/// Records the changes by this cache object, and the changes by others that the object has read. A response that was
/// requested before a change and arrives after the change may be outdated. Any thread.
///
/// A writer records its change before it changes an entry. A store checks for changes before and after it adds an
/// entry. Therefore either the writer finds the new entry, or the store finds the change.
final class RecentWrites: Sendable {
    private struct State {
        var changes = LocalChanges<[UInt8]>()
        var tier = MemoryTier()
    }

    /// The number of changes, read without the lock.
    private let count = Atomic<UInt64>(0)
    private let state = Mutex(State())

    /// The changes that are known now, for a request that is about to be sent.
    var moment: CacheMoment {
        state.withLock { CacheMoment(index: $0.tier.index, shared: $0.tier.seen, local: $0.changes.count) }
    }

    /// The changes that are already applied to entries read from the index now.
    var momentInIndex: CacheMoment {
        state.withLock { CacheMoment(index: $0.tier.index, shared: $0.tier.seen, local: $0.changes.countInIndex) }
    }

    /// - Parameters:
    ///   - url: Nil if the change affects more than one URL.
    ///   - isWritten: True if there is no index. ``wrote(_:)`` is then not called.
    /// - Returns: The ticket of the change.
    func note(_ effect: ChangeEffect, _ url: String?, isWritten: Bool) -> UInt64 {
        let name = url.map { CacheChange.name(ofURL: $0) }
        return state.withLock { state in
            state.changes.note(effect, name, isWritten: isWritten)
            count.store(state.changes.count, ordering: .releasing)
            return state.changes.count
        }
    }

    /// Called when a change is in the index, or is pending and will be applied before the index is read again.
    func wrote(_ ticket: UInt64) { state.withLock { $0.changes.wrote(ticket) } }

    /// Returns whether and how a response that was requested at `moment` may be stored in memory.
    func verdict(_ url: String, since moment: CacheMoment) -> StoreVerdict {
        guard moment.local < count.load(ordering: .acquiring) else { return .asIs }
        let name = CacheChange.name(ofURL: url)
        return state.withLock { $0.changes.verdict(name, since: moment) }
    }

    // MARK: Changes by others, on the disk's thread

    var tier: MemoryTier { state.withLock { $0.tier } }

    /// - Parameter changes: Nil if the changes are unknown and may affect any entry.
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
