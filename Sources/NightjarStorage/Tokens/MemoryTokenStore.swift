import NightjarHTTP
import NightjarSystem
import Synchronization

/// Stores a login in memory. The login is lost when the process ends. Clients that use the same store share its login.
public final class MemoryTokenStore: TokenStore {
    fileprivate struct State: Sendable {
        var login: StoredLogin?
        var isLocked = false
    }

    fileprivate let state = Mutex(State())
    private let process = getpid()

    public init(_ login: StoredLogin? = nil) {
        state.withLock { $0.login = login }
    }

    public var name: String { "memory" }

    public func load() throws(NightjarError) -> StoredLogin? {
        try checkProcess()
        return state.withLock { $0.login }
    }

    public func save(_ login: StoredLogin, replacing version: LoginVersion?) throws(NightjarError) -> Bool {
        try checkProcess()
        return state.withLock { state in
            guard login.mayReplace(state.login, of: version) else { return false }
            state.login = login
            return true
        }
    }

    public func tryLock() throws(NightjarError) -> (any TokenLock)? {
        try checkProcess()
        let isTaken = state.withLock { state in
            defer { state.isLocked = true }
            return state.isLocked
        }
        return isTaken ? nil : MemoryTokenLock(self)
    }

    fileprivate func release() {
        guard getpid() == process else { return }
        state.withLock { $0.isLocked = false }
    }

    /// Throws `forked` in a forked child. The child has a copy of the login and would use the same refresh token as its
    /// parent.
    private func checkProcess() throws(NightjarError) {
        guard getpid() != process else { return }
        throw NightjarError(.forked, "this token store belongs to the parent process; create a new one after the fork")
    }
}

private final class MemoryTokenLock: TokenLock {
    private let store: MemoryTokenStore
    private let isReleased = Atomic<Bool>(false)

    init(_ store: MemoryTokenStore) { self.store = store }

    deinit { unlock() }

    func unlock() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        store.release()
    }
}
