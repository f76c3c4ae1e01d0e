import Nightjar

/// The wait of a task for the next change of a subject, such as the network. Belongs to the thread that runs the Lua state.
final class ChangeWait: @unchecked Sendable {
    private let engine: Engine
    /// The subject for messages: "the network".
    private let subject: String
    private var awaited: Future?

    init(_ engine: Engine, _ subject: String) {
        self.engine = engine
        self.subject = subject
    }

    /// Ends the wait, if a task waits.
    func end() {
        if let future = awaited.take() { engine.complete(future) }
    }

    /// - Throws: `invalid_argument` if another task waits; `forked`.
    func begin(_ wait: OpaquePointer) throws(NightjarError) -> Future {
        try engine.checkProcess()
        guard awaited == nil else {
            throw NightjarError(.invalidArgument, "another task already waits for the next change of \(subject)")
        }
        let future = engine.pending(for: wait)
        future.abandon = { [weak self, weak future] in
            guard let self, let future else { return }
            awaited = nil
            engine.drop(future)
        }
        awaited = future
        return future
    }
}
