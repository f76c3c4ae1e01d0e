import NightjarStorage
import NightjarTestSupport

/// A simulated system of processes that share the folder of a cache. The library makes the decisions. The index and the
/// threads are a model.
///
/// Each process has a loop, which sends requests and receives responses, and a disk thread, which runs jobs. Each job
/// and each change of memory consists of steps. Other steps may happen between them.
struct SharedFolder: SimulatedSystem {
    /// The number of keys. Keys 0 and 1 share a URL, and keys 0 and 2 share a partition.
    static let keys = 3
    static func url(_ key: Int) -> Int { key / 2 }

    struct Entry: Equatable {
        /// A unique number. A later entry of the same key has another number.
        var id: Int
        var version: Int
        /// The step in which the request of the entry was sent.
        var sent: Int
        var isInvalid = false
        var body: Int
    }

    enum Scope: Equatable {
        case invalidate(url: Int)
        case remove(url: Int)
        case partition(Int)
        case all

        var effect: ChangeEffect { if case .invalidate = self { .invalidates } else { .removes } }
        /// The URL of the scope. Nil if the scope has several URLs.
        var url: Int? {
            switch self {
            case .invalidate(let url), .remove(let url): url
            case .partition, .all: nil
            }
        }
        func concerns(_ key: Int) -> Bool {
            switch self {
            case .invalidate(let url), .remove(let url): SharedFolder.url(key) == url
            case .partition(let partition): key % 2 == partition
            case .all: true
            }
        }
    }

    struct Change {
        var scope: Scope
        var ticket: UInt64
    }

    /// The file that the processes share. A transaction on it is one step.
    struct Index {
        var file: Int64
        var latest: Int64 = 0
        var horizon: Int64 = 0
        var changes: [(change: LoggedChange, scope: Scope)] = []
        var rows: [Int: Entry] = [:]
        static let kept: Int64 = 1

        var log: ChangeLog { ChangeLog(index: file, latest: latest, horizon: horizon) }

        func verdict(_ key: Int, since moment: CacheMoment, by writer: Int64) -> StoreVerdict {
            let matching = changes.lazy.filter { $0.scope.url == nil || $0.scope.url == SharedFolder.url(key) }
            return log.verdict(since: moment, by: writer, matching.map(\.change))
        }

        mutating func apply(_ change: Change, by writer: Int64) {
            for key in rows.keys where change.scope.concerns(key) {
                if change.scope.effect == .removes { rows[key] = nil } else { rows[key]?.isInvalid = true }
            }
            latest += 1
            let logged = LoggedChange(
                number: latest, writer: writer, ticket: change.ticket, effect: change.scope.effect)
            changes.append((logged, change.scope))
            if let horizon = log.trimmed(keeping: Index.kept) {
                changes.removeAll { $0.change.number <= horizon }
                self.horizon = horizon
            }
        }
    }

    struct Request {
        var key: Int
        var moment: CacheMoment
        var sent: Int
        var validating: Entry?
        /// The version in the response. Nil until the server has responded.
        var version: Int?
    }

    struct Write {
        var url: Int
        var isProcessed = false
    }

    /// A step that the loop must take before it handles other events.
    enum LoopStep {
        case change(Scope)
        case enqueue(Job)
        case isDone(UInt64)
        case store(Int, Entry, StoreVerdict)
        case update(Int, Entry, Entry)
        case recheck(Int, CacheMoment, StoreVerdict)
    }

    struct Lookup {
        var key: Int
        var began: Int
        var at: Int64
    }

    enum Job {
        case find(Lookup)
        case check
        case store(Int, Entry, CacheMoment)
        case update(Int, Entry, Entry, CacheMoment)
        case change(Change)
    }

    /// The steps of a job on the disk's thread.
    enum DiskStep {
        case readLog
        case noteChanges(ChangeLog, [Scope]?, at: Int64)
        case applyChanges(ChangeLog, [Scope]?, at: Int64)
        case find(Lookup)
        case promote(Lookup, Entry, CacheMoment)
        case promoteStore(Lookup, Entry, CacheMoment, StoreVerdict)
        case promoteRecheck(Lookup, Entry, CacheMoment, StoreVerdict)
        case deliver(Lookup, Entry?)
        case checked
        case writeBody(Int, Entry, CacheMoment)
        case commit(Int, Entry, CacheMoment)
        case update(Int, Entry, Entry, CacheMoment)
        case add(Change)
        case settle
        case wrote(UInt64)
    }

    struct Process {
        var writer: Int64
        var local = LocalChanges<Int>(capacity: 2)
        var tier = MemoryTier()
        var memory: [Int: Entry] = [:]
        var checked = -(Int64(1) << 60)
        var isChecking = false
        var pending = PendingChanges<Change>(capacity: 2) { Change(scope: .all, ticket: max($0.ticket, $1.ticket)) }
        var loop: [LoopStep] = []
        var jobs: [Job] = []
        var disk: [DiskStep] = []
        var requests: [Request] = []
        var writes: [Write] = []
        var closesAt: Int64?

        var moment: CacheMoment { CacheMoment(index: tier.index, shared: tier.seen, local: local.count) }
        var momentInIndex: CacheMoment {
            CacheMoment(index: tier.index, shared: tier.seen, local: local.countInIndex)
        }
        /// True during a sequence of steps that callers observe as atomic.
        var isBusy: Bool {
            if !loop.isEmpty { return true }
            switch disk.first {
            case .applyChanges, .promoteStore, .promoteRecheck: return true
            default: return false
            }
        }
    }

    /// A change by a process. When it is completed, responses that were requested earlier must not be returned.
    struct Promise {
        var writer: Int64
        var ticket: UInt64
        var scope: Scope
        var began: Int
        /// The step in which the change was reported to the caller.
        var done: Int?
        /// The time at which the change was written to the index.
        var reached: Int64?
        /// True if the process ended before it could write the change.
        var isAbandoned = false
    }

    var now: Int64 = 0
    var step = 0
    var lastWriter: Int64 = 0
    var lastID = 0
    var versions = [0, 0]
    var index = Index(file: 1)
    /// The names of the body files, which identify their content.
    var files: Set<Int> = []
    var isLocked = false
    var processes: [Process] = []
    var promises: [Promise] = []
    var failureMessage: String?

    init(random: inout SeededRandom) {
        for _ in 0..<Int.random(in: 2...3, using: &random) {
            lastWriter += 1
            processes.append(Process(writer: lastWriter))
        }
    }

    var violation: String? {
        if let failureMessage { return failureMessage }
        if index.changes.count > Index.kept * 2 { return "the log has \(index.changes.count) changes" }
        for process in processes where process.pending.count > 2 {
            return "\(process.pending.count) changes are pending"
        }
        for (key, row) in index.rows where !files.contains(row.body) { return "the row of key \(key) has no body" }
        return nil
    }

    /// Describes a change of a running process that is lost although the index was unlocked. Nil if there is none.
    var violationAtEnd: String? {
        var copy = self
        copy.isLocked = false
        for number in copy.processes.indices {
            while !copy.processes[number].loop.isEmpty { copy.takeLoopStep(number) }
            while !copy.processes[number].disk.isEmpty || !copy.processes[number].jobs.isEmpty {
                copy.takeDiskStep(number)
            }
            copy.settle(number)
        }
        if let violation = copy.violation { return violation }
        let runningWriters = Set(processes.map(\.writer))
        let lost = copy.promises.first { $0.reached == nil && !$0.isAbandoned && runningWriters.contains($0.writer) }
        return lost.map { "the change \($0.scope) of process \($0.writer) is lost" }
    }

    mutating func newID() -> Int {
        lastID += 1
        return lastID
    }
}
