import NightjarHTTP
import NightjarStorage

/// The renewals of one client that have not ended, though its calls may have given up on them, in the order of
/// ``RenewalQueue``.
struct RenewalLine {
    private var renewals: [RenewalQueue.ID: TokenRenewal] = [:]
    private var queue = RenewalQueue()

    var isEmpty: Bool { renewals.isEmpty }

    mutating func append(changesLogin: Bool, _ make: (RenewalQueue.ID) -> TokenRenewal) {
        let id = queue.append(changesLogin: changesLogin)
        renewals[id] = make(id)
    }

    /// - Returns: the next that begins now. It may end at once, so ask again after that.
    mutating func next() -> TokenRenewal? { queue.next().flatMap { renewals[$0] } }

    mutating func remove(_ renewal: TokenRenewal) {
        renewals[renewal.id] = nil
        queue.remove(renewal.id)
    }

    /// Somebody logs in or out: the renewals before that start no exchange any more.
    func overtake() {
        for renewal in renewals.values where !renewal.decisions.purpose.changesLogin { renewal.abandon() }
    }

    /// Closes the line: no further renewal begins. Returns whether ending now would lose something.
    func mustNotBeCut() -> Bool {
        for renewal in renewals.values { renewal.abandon() }
        return renewals.values.contains { $0.decisions.mustNotBeCut }
    }

    /// The loop ends.
    ///
    /// - Returns: logins and logouts that did not reach the store in time.
    mutating func leave() -> [LoginRenewal.Purpose] {
        let lost = renewals.values.filter { $0.decisions.mustNotBeCut && $0.decisions.purpose.changesLogin }
        for renewal in renewals.values { renewal.leave() }
        renewals = [:]
        return lost.map(\.decisions.purpose)
    }
}
