import NightjarHTTP
import NightjarStorage

/// A client's pending token refreshes, logins and logouts, in the order of ``RenewalQueue``. They continue after the
/// calls that waited for them have given up.
struct RenewalLine {
    private var renewals: [RenewalQueue.ID: TokenRenewal] = [:]
    private var queue = RenewalQueue()

    var isEmpty: Bool { renewals.isEmpty }

    mutating func append(changesLogin: Bool, _ make: (RenewalQueue.ID) -> TokenRenewal) {
        let id = queue.append(changesLogin: changesLogin)
        renewals[id] = make(id)
    }

    /// Returns the next refresh that may begin. It may end at once; call again afterwards.
    mutating func next() -> TokenRenewal? { queue.next().flatMap { renewals[$0] } }

    mutating func remove(_ renewal: TokenRenewal) {
        renewals[renewal.id] = nil
        queue.remove(renewal.id)
    }

    /// After a login or logout, earlier refreshes start no more exchanges.
    func overtake() {
        for renewal in renewals.values where !renewal.decisions.purpose.changesLogin { renewal.abandon() }
    }

    /// Closes the queue: no further refresh begins. Returns whether cancelling the current work would lose a token.
    func mustNotBeCut() -> Bool {
        for renewal in renewals.values { renewal.abandon() }
        return renewals.values.contains { $0.decisions.mustNotBeCut }
    }

    /// Discards all work because the loop ends.
    ///
    /// - Returns: The logins and logouts that were not saved in time.
    mutating func leave() -> [LoginRenewal.Purpose] {
        let lost = renewals.values.filter { $0.decisions.mustNotBeCut && $0.decisions.purpose.changesLogin }
        for renewal in renewals.values { renewal.leave() }
        renewals = [:]
        return lost.map(\.decisions.purpose)
    }
}
