import NightjarSystem
import Synchronization

/// Distinguishes objects that were created before a fork from objects that were created afterwards.
///
/// A forked child inherits the memory of its parent's clients, but not their threads. Locks are in an arbitrary state.
/// Therefore each client and queue records the generation in which it was created. A method of an object from an
/// earlier generation returns at once instead of waiting for a thread that does not exist.
package enum Fork {
    private static let current = Atomic<Int>(0)

    private static let watch: Void = {
        _ = pthread_atfork(nil, nil, { Fork.current.add(1, ordering: .relaxed) })
    }()

    package static var generation: Int {
        watch
        return current.load(ordering: .relaxed)
    }

    package static func hasForked(since generation: Int) -> Bool {
        current.load(ordering: .relaxed) != generation
    }
}
