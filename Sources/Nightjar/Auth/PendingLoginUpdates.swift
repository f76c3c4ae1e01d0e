import NightjarHTTP
import NightjarStorage

/// The pending token refreshes, logins and logouts of one ``TokenManager``, in the order of ``LoginUpdateQueue``. An
/// update continues after the calls that waited for it have ended.
struct PendingLoginUpdates {
    private var updates: [LoginUpdateQueue.ID: LoginUpdateTask] = [:]
    private var queue = LoginUpdateQueue()

    var isEmpty: Bool { updates.isEmpty }

    mutating func append(changesLogin: Bool, _ make: (LoginUpdateQueue.ID) -> LoginUpdateTask) {
        let id = queue.append(changesLogin: changesLogin)
        updates[id] = make(id)
    }

    /// Returns the next update that may begin, or nil. The caller starts the update and calls this method again until
    /// the result is nil, because several updates can be in progress at once.
    mutating func next() -> LoginUpdateTask? { queue.next().flatMap { updates[$0] } }

    mutating func remove(_ update: LoginUpdateTask) {
        updates[update.id] = nil
        queue.remove(update.id)
    }

    /// Prevents the unsent token requests of pending refreshes. Called after a login or logout.
    func overtake() {
        for update in updates.values where !update.decisions.purpose.changesLogin { update.abandon() }
    }

    /// Abandons all updates. Returns whether cancelling the work in progress would lose a token, a login or a logout.
    func mustFinish() -> Bool {
        for update in updates.values { update.abandon() }
        return updates.values.contains { $0.decisions.mustFinish }
    }

    /// Discards all work because the loop ends.
    ///
    /// - Returns: The logins and logouts that were not saved in time.
    mutating func leave() -> [LoginUpdate.Purpose] {
        let lost = updates.values.filter { $0.decisions.mustFinish && $0.decisions.purpose.changesLogin }
        for update in updates.values { update.leave() }
        updates = [:]
        return lost.map(\.decisions.purpose)
    }
}
