import NIOCore
import NightjarHTTP
import NightjarStorage
import NightjarTransport
import Synchronization

/// The disk part of a cache. Work runs on a dedicated thread in the order of submission. Only ``wait(for:)``,
/// ``remove(_:)`` and ``flush()`` block the caller. Any thread.
///
/// An entry that cannot be read is a miss, and an entry that cannot be written is not stored. Therefore a disk error
/// fails a call only if part of a cached body has already been delivered to the caller, or if the call must use the
/// cache: with a policy that allows no request, or to insert a response.
final class CacheDisk: Sendable {
    private let disk: DiskCache
    private let thread = ThreadPool(1, name: "nightjar-cache")
    private let forkGeneration = Fork.generation
    /// False if the thread could not be started for the last work. Used to log the failure once.
    private let hasThread = Atomic<Bool>(true)
    /// Whether a job that writes pending changes is queued.
    private let isFlushing = Atomic<Bool>(false)
    /// Bytes queued for writing.
    private let backlog = Atomic<Int>(0)
    private let listeners = Mutex<[Int: @Sendable (LogSink.Level, String) -> Void]>([:])

    /// Seconds that a removal, a flush and closing a client wait for other processes.
    private let gracePeriod: Double

    /// Does not access the disk.
    init(folder: String, maximumBytes: Int, gracePeriod: Double) {
        self.gracePeriod = gracePeriod
        disk = DiskCache(folder: folder, maximumBytes: maximumBytes)
    }

    /// In a forked child, the thread does not exist.
    deinit { if !Fork.hasForked(since: forkGeneration) { thread.close() } }

    // MARK: Work

    /// Runs `work` on the thread.
    ///
    /// - Parameter mustRun: Whether to keep `work` if the thread cannot be started. The work then runs when the thread
    ///   starts later.
    /// - Returns: False in the child of a fork, which must not use its parent's files, and if the thread cannot be
    ///   started.
    @discardableResult
    func run(mustRun: Bool = false, _ work: @escaping @Sendable (DiskCache) -> Void) -> Bool {
        guard !Fork.hasForked(since: forkGeneration) else { return false }
        do throws(ThreadFailure) {
            try submit(mustRun: mustRun, work)
            hasThread.store(true, ordering: .relaxed)
            return true
        } catch {
            if hasThread.exchange(false, ordering: .relaxed) {
                log(error.error(.storage, "using the cache on disk").message)
            }
            return false
        }
    }

    private func submit(
        mustRun: Bool = false, _ work: @escaping @Sendable (DiskCache) -> Void
    ) throws(ThreadFailure) {
        try thread.submit(mustRun: mustRun) { [self] in
            work(disk)
            for note in disk.takeNotes() { log(note) }
            scheduleFlush()
        }
    }

    /// Queues another attempt to write pending changes. Repeats this while another process locks the index.
    private func scheduleFlush() {
        guard disk.hasPendingChanges, !isFlushing.exchange(true, ordering: .relaxed) else { return }
        // Cannot fail, because the pool's only thread runs this code. The queued work does not retain this object.
        try? thread.submit { [weak self] in
            guard let self else { return }
            let result = disk.settle(within: 0.1)
            isFlushing.store(false, ordering: .relaxed)
            if case .failure(let error) = result, error.cause == .busy { scheduleFlush() }
        }
    }

    /// Runs `work` on the thread and delivers the result on the loop of `gate`, unless the client has closed.
    func run<Value: Sendable>(
        _ work: @escaping @Sendable (DiskCache) -> Value, on gate: LoopGate,
        then deliver: @escaping @Sendable (Value) -> Void
    ) -> Bool {
        run { disk in
            let value = work(disk)
            gate.execute { deliver(value) }
        }
    }

    /// Waits until all queued work is done and all changes are in the index.
    ///
    /// - Throws: `storage` if a change is still pending, or if the thread cannot be started.
    func flush() throws(NightjarError) {
        switch try wait(for: { [gracePeriod] disk in disk.settle(within: gracePeriod) }) {
        case .success, nil: return
        case .failure(let error): throw CacheDisk.flushFailure(error)
        }
    }

    /// Like ``flush()``, but does not block. If a change is still pending, `failed` is called on the thread.
    func flush(orElse failed: @escaping @Sendable (NightjarError) -> Void) {
        run(mustRun: true) { [gracePeriod] disk in
            if case .failure(let error) = disk.settle(within: gracePeriod) { failed(CacheDisk.flushFailure(error)) }
        }
    }

    private static func flushFailure(_ error: DatabaseError) -> NightjarError {
        failure("invalidating cached responses", error)
    }

    /// Removes entries and waits until the removal is written.
    ///
    /// - Parameter remove: Returns nil if the removal is pending.
    /// - Returns: The number of removed entries; 0 in the child of a fork.
    /// - Throws: `storage` if the removal is still pending, or if the thread cannot be started.
    func remove(_ remove: @escaping @Sendable (DiskCache) -> Int?) throws(NightjarError) -> Int {
        let result = try wait { [gracePeriod] disk in
            remove(disk).map { .success($0) } ?? disk.settle(within: gracePeriod)
        }
        switch result {
        case .success(let count): return count
        case nil: return 0
        case .failure(let error): throw CacheDisk.failure("removing cached responses", error)
        }
    }

    private static func failure(_ operation: String, _ error: DatabaseError) -> NightjarError {
        NightjarError(
            .storage,
            "\(operation) failed: \(error.description); other processes may still use these responses; the operation is "
                + "repeated while the cache is open",
            code: error.code)
    }

    static let gracePeriod = 5.0

    /// Runs `work` on the thread and waits for it.
    ///
    /// - Returns: Nil in the child of a fork.
    /// - Throws: `storage` if the thread cannot be started.
    func wait<Value: Sendable>(for work: @escaping @Sendable (DiskCache) -> Value) throws(NightjarError) -> Value? {
        guard !Fork.hasForked(since: forkGeneration) else { return nil }
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

    /// Reserves room for `count` bytes in the write queue. Returns false if the queue is full. If the result is true,
    /// call ``connected(_:)`` after the write.
    func hasRoom(for count: Int) -> Bool {
        let waiting = backlog.add(count, ordering: .relaxed).newValue
        // A body larger than the limit is accepted if the queue is empty, because the body is already in memory.
        guard waiting <= CacheDisk.largestBacklog || waiting == count else {
            connected(count)
            return false
        }
        return true
    }

    func connected(_ count: Int) { backlog.subtract(count, ordering: .relaxed) }

    /// The maximum number of body bytes queued for writing. Bodies that do not fit are not stored on disk.
    private static let largestBacklog = 32 << 20

    // MARK: Logging

    /// Registers a listener for log messages until ``unlisten(_:)``. The listener is called on any thread.
    func listen(_ listener: @escaping @Sendable (LogSink.Level, String) -> Void) -> Int {
        listeners.withLock { listeners in
            let number = (listeners.keys.max() ?? 0) + 1
            listeners[number] = listener
            return number
        }
    }

    func unlisten(_ number: Int) { listeners.withLock { $0[number] = nil } }

    private func log(_ note: String) {
        for listener in listeners.withLock({ Array($0.values) }) { listener(.warning, note) }
    }
}
