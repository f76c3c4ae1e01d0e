import Foundation

/// A thread that runs functions for other threads, one after the other, until it is released.
final class WorkThread: Sendable {
    private final class State: @unchecked Sendable {
        let condition = NSCondition()
        var job: (() -> Void)?
        var isDone = false
        var isEnded = false

        /// Runs the next job, and releases it before the caller continues. Returns false at the end of the thread.
        func runNext() -> Bool {
            let job = condition.withLock { () -> (() -> Void)? in
                while self.job == nil, !isEnded { condition.wait() }
                return self.job.take()
            }
            job?()
            return job != nil
        }

        func finish() {
            condition.withLock {
                isDone = true
                condition.broadcast()
            }
        }
    }

    private let state = State()

    init() {
        let state = state
        Thread.detachNewThread {
            while state.runNext() { state.finish() }
        }
    }

    deinit {
        state.condition.withLock {
            state.isEnded = true
            state.condition.broadcast()
        }
    }

    /// Runs `body` on the thread and returns its result. Only one caller at a time may use the thread.
    func run<Value>(_ body: () throws -> Value) throws -> Value {
        try withoutActuallyEscaping(body) { body in
            nonisolated(unsafe) var result: Result<Value, any Error>?
            state.condition.withLock {
                state.isDone = false
                state.job = { result = Result(catching: body) }
                state.condition.broadcast()
                while !state.isDone { state.condition.wait() }
            }
            guard let result else { throw CancellationError() }
            return try result.get()
        }
    }
}
