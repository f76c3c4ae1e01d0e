import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport
import Synchronization

/// The part of a cache that is on disk, behind a thread of its own: what is asked of it is done in the order in which it was
/// asked, and nobody waits for it but who wants to. Any thread.
///
/// A cache is never worth a failure: what the disk does not give is a miss, and what it does not take is not kept.
final class CacheDisk: Sendable {
    private let disk: DiskCache
    private let thread = ThreadPool(1, name: "nightjar-cache")
    private let birth = Fork.generation
    /// False if the system had no thread for the last work. The log reports that once.
    private let hasThread = Atomic<Bool>(true)
    /// A job that writes pending changes waits for its turn.
    private let isSettling = Atomic<Bool>(false)
    /// Bytes that are on their way to the disk.
    private let backlog = Atomic<Int>(0)
    private let listeners = Mutex<[Int: @Sendable (LogLevel, String) -> Void]>([:])

    /// Seconds that a removal, a flush and the end of a client wait for other processes.
    private let grace: Double

    /// Touches nothing yet.
    init(folder: String, maximumBytes: Int, grace: Double) {
        self.grace = grace
        disk = DiskCache(folder: folder, maximumBytes: maximumBytes)
    }

    /// Not in the child of a fork, which does not have the thread.
    deinit { if !Fork.hasHappened(since: birth) { thread.close() } }

    // MARK: Work

    /// Does `work` on the thread.
    ///
    /// - Parameter mustRun: if the system has no thread, `work` runs later, once a thread starts.
    /// - Returns: false in the child of a fork, which must not use its parent's files, and if the system has no thread.
    @discardableResult
    func run(mustRun: Bool = false, _ work: @escaping @Sendable (DiskCache) -> Void) -> Bool {
        guard !Fork.hasHappened(since: birth) else { return false }
        do throws(ThreadFailure) {
            try submit(mustRun: mustRun, work)
            hasThread.store(true, ordering: .relaxed)
            return true
        } catch {
            if hasThread.exchange(false, ordering: .relaxed) {
                tell(error.error(.storage, "using the cache on disk").message)
            }
            return false
        }
    }

    private func submit(
        mustRun: Bool = false, _ work: @escaping @Sendable (DiskCache) -> Void
    ) throws(ThreadFailure) {
        try thread.submit(mustRun: mustRun) { [self] in
            work(disk)
            for note in disk.takeNotes() { tell(note) }
            settleSoon()
        }
    }

    /// Changes that another process has kept from the index are tried again until they are there, after other work.
    private func settleSoon() {
        guard disk.hasPendingChanges, !isSettling.exchange(true, ordering: .relaxed) else { return }
        // Not kept alive by its own attempts.
        // This code runs on the pool's thread, so no thread has to start.
        try? thread.submit { [weak self] in
            guard let self else { return }
            let result = disk.settle(within: 0.1)
            isSettling.store(false, ordering: .relaxed)
            if case .failure(let error) = result, error.cause == .busy { settleSoon() }
        }
    }

    /// The same, with what it comes to told on a loop, if that still runs.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (DiskCache) -> Value, on gate: LoopGate,
        then deliver: @escaping @Sendable (Value) -> Void
    ) -> Bool {
        run { disk in
            let value = work(disk)
            gate.execute { deliver(value) }
        }
    }

    /// Waits until all that was asked before is done, and all changes are in the index.
    ///
    /// - Throws: `storage` when a change is still pending.
    func flush() throws(NightjarError) {
        switch try wait(for: { [grace] disk in disk.settle(within: grace) }) {
        case .success, nil: return
        case .failure(let error): throw CacheDisk.failure("invalidating cached responses", error)
        }
    }

    /// - Parameter remove: returns nil when the removal is pending.
    /// - Returns: how many entries went; 0 in the child of a fork.
    /// - Throws: `storage` when it is still pending.
    func remove(_ remove: @escaping @Sendable (DiskCache) -> Int?) throws(NightjarError) -> Int {
        let result = try wait { [grace] disk in remove(disk).map { .success($0) } ?? disk.settle(within: grace) }
        switch result {
        case .success(let count): return count
        case nil: return 0
        case .failure(let error): throw CacheDisk.failure("removing cached responses", error)
        }
    }

    private static func failure(_ operation: String, _ error: DatabaseError) -> NightjarError {
        NightjarError(
            .storage,
            "\(operation) failed: \(error.description); other processes may still find them, and it is tried again while the cache is open",
            code: error.code)
    }

    static let grace = 5.0

    /// Waits for `work` on the thread.
    ///
    /// - Returns: nil in the child of a fork.
    /// - Throws: `storage` if the system has no thread.
    func wait<Value: Sendable>(for work: @escaping @Sendable (DiskCache) -> Value) throws(NightjarError) -> Value? {
        guard !Fork.hasHappened(since: birth) else { return nil }
        let isDone = OneShotEvent()
        let result = Mutex<Value?>(nil)
        do throws(ThreadFailure) {
            try submit { disk in
                let value = work(disk)
                result.withLock { $0 = value }
                isDone.signal()
            }
        } catch {
            throw error.error(.storage, "using the cache on disk")
        }
        isDone.wait()
        return result.withLock { $0 }
    }

    /// Whether so many bytes more may wait for the disk. Whoever has asked brings them and ``landed(_:)`` tells that they
    /// wait no more.
    func hasRoom(for count: Int) -> Bool {
        let waiting = backlog.add(count, ordering: .relaxed).newValue
        // A large one that comes in one piece is in memory anyway.
        guard waiting <= CacheDisk.largestBacklog || waiting == count else {
            landed(count)
            return false
        }
        return true
    }

    func landed(_ count: Int) { backlog.subtract(count, ordering: .relaxed) }

    /// Bytes of bodies that may wait for the disk: what comes faster than it writes is not kept.
    private static let largestBacklog = 32 << 20

    // MARK: Telling

    /// Tells `listener` what a log should know, on any thread, until ``unlisten(_:)``.
    func listen(_ listener: @escaping @Sendable (LogLevel, String) -> Void) -> Int {
        listeners.withLock { listeners in
            let number = (listeners.keys.max() ?? 0) + 1
            listeners[number] = listener
            return number
        }
    }

    func unlisten(_ number: Int) { listeners.withLock { $0[number] = nil } }

    private func tell(_ note: String) {
        for listener in listeners.withLock({ Array($0.values) }) { listener(.warning, note) }
    }
}
