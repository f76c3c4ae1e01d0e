import CLua
import Nightjar
import NightjarTransport

/// A few threads for the blocking work of one Lua state. They block all signals and start with the first work.
///
/// Work that has started always completes, even if nothing waits for it, so that a write is complete or not started.
final class Workers {
    private let queue: CompletionQueue
    private var threads: ThreadPool?

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// - Parameter deliver: called by a poll of the queue.
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

    /// For a forked child, where the threads do not exist and cannot be joined: leaks the pool.
    func leave() {
        if let threads { _ = Unmanaged.passRetained(threads) }
        threads = nil
    }

    /// Does not wait for work in progress, because blocking calls, such as opening a named pipe, cannot be interrupted.
    func close() {
        threads?.close()
        threads = nil
    }

    /// Disks respond in microseconds, so a few threads keep a disk busy. A named pipe whose other end is not opened
    /// blocks one thread.
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
