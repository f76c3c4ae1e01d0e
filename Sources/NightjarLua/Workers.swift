import CLua
import Nightjar
import NightjarTransport

/// A few threads for what blocks, beside one Lua state: they take no signals and start with the first work.
///
/// Work that has begun runs to its end, also when nobody waits for it any more: a write is whole or was not begun.
final class Workers {
    private let queue: CompletionQueue
    private var threads: ThreadPool?

    init(_ queue: CompletionQueue) { self.queue = queue }

    /// - Parameter deliver: run by a poll of the queue.
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

    /// In a forked child, which has none of the threads: they cannot be ended there, so the pool is left as it is.
    func leave() {
        if let threads { _ = Unmanaged.passRetained(threads) }
        threads = nil
    }

    /// Not waited for: what blocks, as the opening of a named pipe, has no way to be interrupted.
    func close() {
        threads?.close()
        threads = nil
    }

    /// Files answer in microseconds, so a few threads keep a disk busy; a named pipe that nobody opens at its other end blocks
    /// one of them.
    private static let count = 8
}

/// What blocking work has come to.
enum WorkValue: Sendable {
    case nothing
    case one(ScriptValue)
    case many([ScriptValue])
    case resource(Resource, ScriptValue)
}

extension Engine {
    func work(
        for wait: OpaquePointer, _ work: @escaping @Sendable () throws(NightjarError) -> WorkValue
    ) throws(NightjarError) -> Outcome {
        try checkProcess()
        let outcome = pending(for: wait)
        outcome.abandon = { [weak self, weak outcome] in
            if let outcome { self?.drop(outcome) }
        }
        workers.run(work) { [weak self] result in self?.complete(outcome, result) }
        return outcome
    }
}
