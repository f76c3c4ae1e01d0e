import CLua
import Nightjar

/// The waits of a script for the next event of an object, such as a WebSocket. Belongs to the thread that runs the Lua
/// state.
final class EventWaits {
    private unowned let engine: Engine
    private var waiters: [Future] = []

    init(_ engine: Engine) { self.engine = engine }

    /// Ends all waits.
    func notify() {
        for waiter in exchange(&waiters, with: []) { engine.complete(waiter) }
    }

    /// Returns an outcome in flight that the next event ends.
    func add(_ wait: OpaquePointer) -> Future {
        let future = engine.pending(for: wait)
        future.abandon = { [weak self, weak future] in
            guard let self, let future else { return }
            engine.drop(future)
            waiters.removeAll { $0 === future }
        }
        waiters.append(future)
        return future
    }
}
