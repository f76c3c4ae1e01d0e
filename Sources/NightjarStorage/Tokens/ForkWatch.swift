import NightjarSystem

/// Prevents a forked child from using the locks and the open token databases of its parent.
///
/// The child closes descriptors with locks. Otherwise it would keep the locks after the parent has ended. If the parent
/// was using a token database when it forked, the child uses no token databases, because SQLite's records of open files
/// are wrong there.
enum ForkWatch {
    private struct State {
        var mutex = pthread_mutex_t()
        var descriptors: Set<Int32> = []
        var databasesInUse = 0
        /// Whether token databases were in use in the parent at the time of the fork.
        var inheritedDatabases = false
    }

    /// The mutex is a system mutex. The forking thread locks it before the fork and unlocks it in both processes.
    nonisolated(unsafe) private static let state: UnsafeMutablePointer<State> = {
        let state = UnsafeMutablePointer<State>.allocate(capacity: 1)
        state.initialize(to: State())
        pthread_mutex_init(&state.pointee.mutex, nil)
        pthread_atfork(
            { pthread_mutex_lock(&ForkWatch.state.pointee.mutex) },
            { pthread_mutex_unlock(&ForkWatch.state.pointee.mutex) },
            {
                ForkWatch.leaveParent()
                pthread_mutex_unlock(&ForkWatch.state.pointee.mutex)
            })
        return state
    }()

    /// Discards the parent's state in the child. Called while the forking thread holds the mutex.
    private static func leaveParent() {
        for descriptor in state.pointee.descriptors { _ = NightjarSystem.close(descriptor) }
        state.pointee.descriptors.removeAll(keepingCapacity: true)
        if state.pointee.databasesInUse > 0 { state.pointee.inheritedDatabases = true }
        state.pointee.databasesInUse = 0
    }

    private static func locked<Result>(_ body: (inout State) -> Result) -> Result {
        let state = state
        pthread_mutex_lock(&state.pointee.mutex)
        defer { pthread_mutex_unlock(&state.pointee.mutex) }
        return body(&state.pointee)
    }

    /// Like `open`, but a forked child does not keep the descriptor. Must be closed with ``close(_:)``.
    static func open(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
        locked { state in
            let descriptor = NightjarSystem.open(path, flags | O_CLOEXEC, mode)
            if descriptor >= 0 { state.descriptors.insert(descriptor) }
            return descriptor
        }
    }

    static func close(_ descriptor: Int32) {
        locked { state in
            guard state.descriptors.remove(descriptor) != nil else { return }
            _ = NightjarSystem.close(descriptor)
        }
    }

    /// Runs `body`, which uses token databases and closes them before it returns.
    ///
    /// - Returns: nil in a child whose parent was inside this function when it forked.
    static func usingDatabases<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        let mayUse = locked { state in
            if !state.inheritedDatabases { state.databasesInUse += 1 }
            return !state.inheritedDatabases
        }
        guard mayUse else { return nil }
        defer { locked { $0.databasesInUse = max(0, $0.databasesInUse - 1) } }
        return try body()
    }
}
