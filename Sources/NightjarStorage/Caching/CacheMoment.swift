/// A position among the changes of a cache: which invalidations and removals were known when a request was sent.
///
/// A response belongs to the moment at which its request was sent. A change that is newer than this moment may concern
/// what the response says, whoever made the change and whenever the response arrives.
public struct CacheMoment: Sendable, Equatable {
    /// Identifies the index whose changes `shared` counts; 0: no index has been read.
    public var index: Int64
    /// The last change of the shared log that had been read.
    public var shared: Int64
    /// The last change that this process's cache object had made or read.
    public var local: UInt64

    public init(index: Int64 = 0, shared: Int64 = 0, local: UInt64 = 0) {
        self.index = index
        self.shared = shared
        self.local = local
    }
}

/// Whether a response may be stored, given the changes since its request was sent. The worst of several counts.
public enum StoreVerdict: Int, Sendable, Comparable {
    case asIs
    /// It is stored for revalidation alone: the resource has been written to since.
    case invalidated
    /// It is not stored: entries of its key have been removed since, or the changes since are not known.
    case refused

    public static func < (a: StoreVerdict, b: StoreVerdict) -> Bool { a.rawValue < b.rawValue }
}

/// The effect of a change on the entries that it concerns.
public enum ChangeEffect: Int64, Sendable {
    case invalidates = 0
    case removes = 1

    var verdict: StoreVerdict { self == .invalidates ? .invalidated : .refused }
}

/// A change of the shared log, as far as it concerns the decision on a late store.
public struct LoggedChange: Sendable, Equatable {
    /// Counts up over all processes, without gaps. From 1.
    public let number: Int64
    /// The cache object that made the change, unique among processes.
    public let writer: Int64
    /// The position of the change among those of its writer: ``CacheMoment/local``.
    public let ticket: UInt64
    public let effect: ChangeEffect

    public init(number: Int64, writer: Int64, ticket: UInt64, effect: ChangeEffect) {
        self.number = number
        self.writer = writer
        self.ticket = ticket
        self.effect = effect
    }
}

/// The extent of the log of changes that all processes share, as one transaction sees it.
public struct ChangeLog: Sendable, Equatable {
    /// A random number that is chosen when the index is created.
    public let index: Int64
    /// The number of the last change; 0: there has been none.
    public let latest: Int64
    /// The log has forgotten all changes up to this one.
    public let horizon: Int64

    public init(index: Int64, latest: Int64, horizon: Int64) {
        self.index = index
        self.latest = latest
        self.horizon = horizon
    }

    /// Whether all changes since `moment` are still in the log.
    public func reaches(_ moment: CacheMoment) -> Bool {
        moment.index == index && moment.shared >= horizon && moment.shared <= latest
    }

    /// Decides on storing a response in the transaction that stores it.
    ///
    /// A writer's own changes that `moment` knew of do not count, although they get their number later: they are
    /// written in the background.
    ///
    /// - Parameters:
    ///   - moment: when the request was sent.
    ///   - writer: the cache object that stores.
    ///   - changes: all of the log after `moment` that concern the key of the response.
    public func verdict(
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

    /// How much of the log goes when it has got too long; nil: nothing.
    ///
    /// - Returns: the new horizon.
    public func trimmed(keeping count: Int64) -> Int64? {
        latest - horizon >= count * 2 ? latest - count : nil
    }
}

/// Keeps a memory cache beside a shared index from serving entries that others have invalidated or removed.
///
///     unknown ──check──▶ current ──100 ms──▶ due ──500 ms──▶ outdated
///                           ▲                 │                 │
///                           └──check──────────┴─────────────────┘
///
/// While it is due, entries are given and a check runs in the background. While it is outdated, a lookup waits for the
/// check. So a change is visible 500 ms after it is in the index, at the latest, and an active client never waits.
public struct MemoryTier: Sendable, Equatable {
    /// The index that was read last; 0: none.
    public private(set) var index: Int64 = 0
    /// The last change of the log that has been applied.
    public private(set) var seen: Int64 = 0

    public init() {}

    public enum Age: Sendable { case current, due, outdated }

    /// - Parameters:
    ///   - nanoseconds: since the beginning of the last successful check, of a clock that does not go back.
    public static func age(afterNanoseconds nanoseconds: Int64) -> Age {
        if nanoseconds < dueAfter { return .current }
        return nanoseconds < outdatedAfter ? .due : .outdated
    }

    public enum Need: Sendable, Equatable {
        case nothing
        /// The changes of others after this one apply.
        case changes(after: Int64)
        /// The changes are not known: no entry may be given again.
        case everything
    }

    /// The changes to apply after a check has read this log.
    public func need(for log: ChangeLog) -> Need {
        guard log.reaches(CacheMoment(index: index, shared: seen)) else { return .everything }
        return seen == log.latest ? .nothing : .changes(after: seen)
    }

    /// The changes up to this log have been applied.
    public mutating func caughtUp(with log: ChangeLog) { (index, seen) = (log.index, log.latest) }

    /// The index cannot be used by this process: the memory is on its own.
    public mutating func lostIndex() { (index, seen) = (0, 0) }

    public static let dueAfter: Int64 = 100_000_000
    public static let outdatedAfter: Int64 = 500_000_000
}

/// The changes that one cache object has made or read, by name: for the responses that its clients are waiting for.
///
/// Bounded: beyond `capacity` names, the oldest are forgotten, and what was requested before them is not stored.
public struct LocalChanges<Name: Hashable & Sendable>: Sendable {
    private struct Last {
        var invalidated: UInt64 = 0
        var removed: UInt64 = 0
    }

    /// The number of changes so far: ``CacheMoment/local``.
    public private(set) var count: UInt64 = 0
    private var names: [Name: Last] = [:]
    /// Own changes that the index may not show yet.
    private var unwritten: Set<UInt64> = []
    /// Responses requested before this change are refused.
    private var horizon: UInt64 = 0
    private let capacity: Int

    public init(capacity: Int = 1024) { self.capacity = capacity }

    /// - Parameters:
    ///   - name: nil: a removal of more than one name.
    ///   - isWritten: the index shows the change already, or there is none.
    /// - Returns: the ticket of the change.
    @discardableResult
    public mutating func note(_ effect: ChangeEffect, _ name: Name?, isWritten: Bool = true) -> UInt64 {
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

    /// The index shows the change from now on, or nothing is found in it before it does.
    public mutating func wrote(_ ticket: UInt64) { unwritten.remove(ticket) }

    /// The last change of which, and of all before, the index shows what is left: the moment of what is read from it now.
    public var countInIndex: UInt64 { unwritten.min().map { $0 - 1 } ?? count }

    /// Decides on storing in memory a response that was requested at `moment`.
    public func verdict(_ name: Name, since moment: CacheMoment) -> StoreVerdict {
        guard moment.local < count else { return .asIs }
        guard moment.local >= horizon else { return .refused }
        guard let last = names[name] else { return .asIs }
        if moment.local < last.removed { return .refused }
        return moment.local < last.invalidated ? .invalidated : .asIs
    }
}

/// The changes that have still to be written to an index, in order. While there are any, the index is not asked for
/// entries: they might be invalid.
public struct PendingChanges<Change: Sendable>: Sendable {
    private var changes: [Change] = []
    private let capacity: Int
    /// Stands for all that are pending, when there are too many.
    private let combined: @Sendable (_ first: Change, _ last: Change) -> Change

    public init(capacity: Int, combined: @escaping @Sendable (Change, Change) -> Change) {
        self.capacity = capacity
        self.combined = combined
    }

    public var isEmpty: Bool { changes.isEmpty }
    public var count: Int { changes.count }
    public var first: Change? { changes.first }

    public mutating func add(_ change: Change) {
        changes.append(change)
        guard changes.count > capacity, let first = changes.first else { return }
        changes = [combined(first, change)]
    }

    /// The first is in the index.
    public mutating func wroteFirst() { if !changes.isEmpty { changes.removeFirst() } }
}
