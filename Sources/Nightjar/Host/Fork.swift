import CLinux
import Glibc
import Synchronization

/// Tells what was made before a fork from what was made after it.
///
/// A forked child has the memory of its parent's clients but not their threads, and their locks as they happened to
/// stand. So each client and queue remembers the generation it was born in, and a child's calls to older ones are
/// answered at once instead of waiting for a thread that is not there.
package enum Fork {
    private static let current = Atomic<Int>(0)

    private static let watch: Void = {
        _ = pthread_atfork(nil, nil, { Fork.current.add(1, ordering: .relaxed) })
    }()

    package static var generation: Int {
        watch
        return current.load(ordering: .relaxed)
    }

    package static func hasHappened(since generation: Int) -> Bool {
        current.load(ordering: .relaxed) != generation
    }
}
