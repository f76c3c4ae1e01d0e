import NightjarStorage

/// The renewals of one client that have not ended, though its calls may have given them up. A login and its end reach the
/// store in the order in which they came, and before what comes behind them: that would find another's token there, or
/// remove the one that is new.
struct RenewalLine {
    /// What the client holds and its store has not.
    var unsaved: StoredLogin?
    private var renewals: [TokenRenewal] = []
    /// Those that are yet to begin.
    private var behind: [TokenRenewal] = []
    /// A login, or its end, is on its way to the store.
    private var isChanging = false

    var isEmpty: Bool { renewals.isEmpty }

    mutating func append(_ renewal: TokenRenewal) {
        renewals.append(renewal)
        behind.append(renewal)
    }

    /// - Returns: who begins now. It may end at once, so it is to be told by then.
    mutating func next() -> TokenRenewal? {
        guard !isChanging, !behind.isEmpty else { return nil }
        let renewal = behind.removeFirst()
        renewal.unsaved = unsaved
        isChanging = renewal.purpose.changesLogin
        return renewal
    }

    mutating func remove(_ renewal: TokenRenewal) {
        renewals.removeAll { $0 === renewal }
        if renewal.purpose.changesLogin { isChanging = false }
    }

    /// The client is closed: whether something is on its way that would be lost. What is not goes no further.
    func mustNotBeCut() -> Bool {
        for renewal in renewals { renewal.abandon() }
        return renewals.contains { $0.mustNotBeCut }
    }

    /// The loop's last.
    mutating func leave() {
        for renewal in renewals { renewal.leave() }
        (renewals, behind) = ([], [])
    }
}

extension TokenRenewal.Purpose {
    fileprivate var changesLogin: Bool {
        switch self {
        case .renew, .look: false
        case .keep, .forget: true
        }
    }
}
