/// A position among the changes of a cache: the invalidations and removals that were known when a request was sent.
///
/// A response belongs to the moment at which its request was sent. A later change may concern the response, even if
/// another process made the change, and even if the response arrives after the change.
package struct CacheMoment: Sendable, Equatable {
    /// Identifies the index whose changes `shared` counts; 0: no index has been read.
    package var index: Int64
    /// The number of the last change that had been read from the shared log.
    package var shared: Int64
    /// The ticket of the last change that this cache object had made or read.
    package var local: UInt64

    package init(index: Int64 = 0, shared: Int64 = 0, local: UInt64 = 0) {
        self.index = index
        self.shared = shared
        self.local = local
    }
}

/// Whether a response may be stored, given the changes after its request was sent. If several changes apply, the
/// greatest verdict applies.
package enum StoreVerdict: Int, Sendable, Comparable {
    case asIs
    /// Stored, but must be revalidated before use: the resource was invalidated after the request was sent.
    case invalidated
    /// Not stored: a removal after the request was sent may concern its key, or the changes are unknown.
    case refused

    package static func < (a: StoreVerdict, b: StoreVerdict) -> Bool { a.rawValue < b.rawValue }
}

/// The effect of a change on the entries that it concerns.
package enum ChangeEffect: Int64, Sendable {
    case invalidates = 0
    case removes = 1

    var verdict: StoreVerdict { self == .invalidates ? .invalidated : .refused }
}

/// A change in the shared log, with the fields that decide whether a response may still be stored.
package struct LoggedChange: Sendable, Equatable {
    /// The number of the change in the log. All processes together number the changes consecutively, from 1.
    package let number: Int64
    /// Identifies the cache object that made the change, unique among processes.
    package let writer: Int64
    /// The position of the change among the changes of its writer. See ``CacheMoment/local``.
    package let ticket: UInt64
    package let effect: ChangeEffect

    package init(number: Int64, writer: Int64, ticket: UInt64, effect: ChangeEffect) {
        self.number = number
        self.writer = writer
        self.ticket = ticket
        self.effect = effect
    }
}

/// The extent of the shared log of changes, as seen by one transaction.
package struct ChangeLog: Sendable, Equatable {
    /// A random number, chosen when the index is created.
    package let index: Int64
    /// The number of the last change; 0: none.
    package let latest: Int64
    /// All changes up to this number have been removed from the log.
    package let horizon: Int64

    package init(index: Int64, latest: Int64, horizon: Int64) {
        self.index = index
        self.latest = latest
        self.horizon = horizon
    }

    /// Returns whether the log covers all changes since `moment`.
    package func reaches(_ moment: CacheMoment) -> Bool {
        moment.index == index && moment.shared >= horizon && moment.shared <= latest
    }

    /// Decides whether a response may be stored. Called in the transaction that stores the response.
    ///
    /// Changes that `writer` made before `moment` do not count. Their numbers in the log may be greater than
    /// `moment.shared`, because changes are written in the background.
    ///
    /// - Parameters:
    ///   - moment: when the request was sent.
    ///   - writer: the cache object that stores the response.
    ///   - changes: all changes after `moment` that may concern the response.
    package func verdict(
        since moment: CacheMoment, by writer: Int64, _ changes: some Sequence<LoggedChange>
    ) -> StoreVerdict {
        guard reaches(moment) else { return .refused }
        var verdict = StoreVerdict.asIs
        for change in changes where change.number > moment.shared {
            if change.writer == writer, change.ticket <= moment.local { continue }
            verdict = max(verdict, change.effect.verdict)
        }
        return verdict
    }

    /// Returns the number of the last change to remove from the log, if the log is too long; nil: none.
    package func trimmed(keeping count: Int64) -> Int64? {
        latest - horizon >= count * 2 ? latest - count : nil
    }
}

/// Prevents a memory cache with a shared index from serving entries that other processes have invalidated or removed.
///
///     unknown ──check──▶ current ──100 ms──▶ due ──500 ms──▶ outdated
///                           ▲                 │                 │
///                           └──check──────────┴─────────────────┘
///
/// In the state `due`, entries are served and a check runs in the background. In the state `outdated`, a lookup waits
/// for the check. A change is therefore visible about 500 ms after it is in the index at the latest, and a client with
/// frequent requests usually does not wait.
package struct MemoryTier: Sendable, Equatable {
    /// The index that was read last; 0: none.
    package private(set) var index: Int64 = 0
    /// The number of the last change in the log that was applied.
    package private(set) var seen: Int64 = 0

    package init() {}

    package enum Age: Sendable { case current, due, outdated }

    /// Returns the state for the age of the last successful check.
    ///
    /// - Parameter nanoseconds: the time since the start of the last successful check, on a monotonic clock.
    package static func age(afterNanoseconds nanoseconds: Int64) -> Age {
        if nanoseconds < dueAfter { return .current }
        return nanoseconds < outdatedAfter ? .due : .outdated
    }

    package enum Need: Sendable, Equatable {
        case nothing
        /// The changes of other writers after this number must be applied.
        case changes(after: Int64)
        /// The changes are unknown: all entries must be discarded.
        case everything
    }

    /// Returns the changes to apply, given the log that a check has read.
    package func need(for log: ChangeLog) -> Need {
        guard log.reaches(CacheMoment(index: index, shared: seen)) else { return .everything }
        return seen == log.latest ? .nothing : .changes(after: seen)
    }

    /// Records that all changes in this log have been applied.
    package mutating func caughtUp(with log: ChangeLog) { (index, seen) = (log.index, log.latest) }

    /// Records that this process cannot use the index. The memory cache is then independent of other processes.
    package mutating func lostIndex() { (index, seen) = (0, 0) }

    package static let dueAfter: Int64 = 100_000_000
    package static let outdatedAfter: Int64 = 500_000_000
}

/// The changes that one cache object has made or read, by name. The changes decide whether responses that are still in
/// flight may be stored.
///
/// Bounded: if a change would exceed `capacity` names, all names are dropped. Responses requested before that change
/// are then not stored.
package struct LocalChanges<Name: Hashable & Sendable>: Sendable {
    private struct Last {
        var invalidated: UInt64 = 0
        var removed: UInt64 = 0
    }

    /// The number of changes so far: ``CacheMoment/local``.
    package private(set) var count: UInt64 = 0
    private var names: [Name: Last] = [:]
    /// The tickets of this object's changes that the index may not contain yet.
    private var unwritten: Set<UInt64> = []
    /// Responses that were requested before the change with this ticket must not be stored.
    private var horizon: UInt64 = 0
    private let capacity: Int

    package init(capacity: Int = 1024) { self.capacity = capacity }

    /// - Parameters:
    ///   - name: the name that the change concerns. Nil: a removal of more than one name.
    ///   - isWritten: true if the index already contains the change, or if there is no index.
    /// - Returns: the ticket of the change.
    @discardableResult
    package mutating func note(_ effect: ChangeEffect, _ name: Name?, isWritten: Bool = true) -> UInt64 {
        count += 1
        if !isWritten { unwritten.insert(count) }
        guard let name, names[name] != nil || names.count < capacity else {
            names.removeAll(keepingCapacity: true)
            horizon = count
            return count
        }
        switch effect {
        case .invalidates: names[name, default: Last()].invalidated = count
        case .removes: names[name, default: Last()].removed = count
        }
        return count
    }

    /// Records that the index contains the change, or will contain it before anything is read from the index.
    package mutating func wrote(_ ticket: UInt64) { unwritten.remove(ticket) }

    /// The ticket up to which the index contains all changes. Entries that are read from the index now reflect these
    /// changes.
    package var countInIndex: UInt64 { unwritten.min().map { $0 - 1 } ?? count }

    /// Decides whether a response requested at `moment` may be stored in memory.
    package func verdict(_ name: Name, since moment: CacheMoment) -> StoreVerdict {
        guard moment.local < count else { return .asIs }
        guard moment.local >= horizon else { return .refused }
        guard let last = names[name] else { return .asIs }
        if moment.local < last.removed { return .refused }
        return moment.local < last.invalidated ? .invalidated : .asIs
    }
}

/// The changes that have not been written to an index yet, in order. While there are any, the index is not searched,
/// because its entries might be invalid.
package struct PendingChanges<Change: Sendable>: Sendable {
    private var changes: [Change] = []
    private let capacity: Int
    /// Returns one change that replaces all pending changes. Called if there are too many.
    private let combined: @Sendable (_ first: Change, _ last: Change) -> Change

    package init(capacity: Int, combined: @escaping @Sendable (Change, Change) -> Change) {
        self.capacity = capacity
        self.combined = combined
    }

    package var isEmpty: Bool { changes.isEmpty }
    package var count: Int { changes.count }
    package var first: Change? { changes.first }

    package mutating func add(_ change: Change) {
        changes.append(change)
        guard changes.count > capacity, let first = changes.first else { return }
        changes = [combined(first, change)]
    }

    /// Records that the first change is in the index.
    package mutating func wroteFirst() { if !changes.isEmpty { changes.removeFirst() } }
}
