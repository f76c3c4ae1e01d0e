import CLua
import Nightjar
import NightjarTransport

/// A few threads for the blocking work of one Lua state. The threads block all signals and start with the first work.
///
/// Work that has started is not interrupted, even if nothing waits for it.
final class Workers {
    private let queue: CompletionQueue
    private var threads: ThreadPool?

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// Runs blocking work on one of the threads.
    ///
    /// - Parameter deliver: called with the result by a poll of the queue.
    func run(
        _ work: @escaping @Sendable () throws(NightjarError) -> WorkValue,
        then deliver: @escaping @Sendable (Result<WorkValue, NightjarError>) -> Void
    ) {
        do throws(ThreadFailure) {
            try started().submit { [queue] in
                let result = Result(catching: work)
                queue.run { deliver(result) }
            }
        } catch {
            let failure = error.error(.storage, "using the file system")
            queue.run { deliver(.failure(failure)) }
        }
    }

    private func started() -> ThreadPool {
        if let threads { return threads }
        let threads = ThreadPool(Workers.count, name: "nightjar-lua")
        self.threads = threads
        return threads
    }

    /// Leaks the pool. For a forked child, where the pool's threads do not exist and its lock may be held.
    func leave() {
        if let threads { _ = Unmanaged.passRetained(threads) }
        threads = nil
    }

    /// Stops the threads without waiting for work in progress, because blocking system calls cannot be interrupted.
    func close() {
        threads?.close()
        threads = nil
    }

    /// The number of threads. Disks respond in microseconds, so a few threads keep a disk busy.
    private static let count = 8
}

/// The result of blocking work.
enum WorkValue: Sendable {
    case nothing
    case one(ScriptValue)
    case many([ScriptValue])
    case resource(Resource, ScriptValue)
}

extension Engine {
    func work(
        for wait: OpaquePointer, _ work: @escaping @Sendable () throws(NightjarError) -> WorkValue
    ) throws(NightjarError) -> Future {
        try checkProcess()
        let future = pending(for: wait)
        future.abandon = { [weak self, weak future] in
            if let future { self?.drop(future) }
        }
        workers.run(work) { [weak self] result in self?.complete(future, result) }
        return future
    }
}
