import Foundation

/// A thread that runs functions for other threads, one after the other, until it is released.
final class WorkThread: Sendable {
    private final class State: @unchecked Sendable {
        let condition = NSCondition()
        var job: (() -> Void)?
        var isEnded = false
    }

    private let state = State()

    init() {
        let state = state
        Thread.detachNewThread {
            while true {
                let job = state.condition.withLock { () -> (() -> Void)? in
                    while state.job == nil, !state.isEnded { state.condition.wait() }
                    return state.job
                }
                guard let job else { return }
                job()
                state.condition.withLock {
                    state.job = nil
                    state.condition.broadcast()
                }
            }
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
                state.job = { result = Result(catching: body) }
                state.condition.broadcast()
                while state.job != nil { state.condition.wait() }
            }
            guard let result else { throw CancellationError() }
            return try result.get()
        }
    }
}
