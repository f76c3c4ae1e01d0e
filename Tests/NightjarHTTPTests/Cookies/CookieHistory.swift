@testable import NightjarHTTP

/// All changes of the cookies of ``CookieFileSystem``, and the rules for the cookies of each process and of the file.
struct CookieHistory {
    struct Change {
        let process: Int
        /// Whether the process sees the session cookies of other processes.
        let keepsSession: Bool
        /// Nil if all cookies were deleted.
        let name: Int?
        /// Nil for a deletion.
        var value: String?
        var expires: Double?
        /// Whether other processes may see the cookie. False for a session cookie of a process that does not save
        /// session cookies.
        var isShared = true
        var at = 0.0
        /// The changes that the process knew when it made this change.
        var knows: Set<Int> = []
        /// Whether the process has ended, so its private cookies are lost.
        var hasEnded = false

        var isPrivate: Bool { value != nil && !isShared }
    }

    enum Holder {
        case file
        case process(Int, keepsSession: Bool)
    }

    var changes: [Change] = []
    /// Whether the clocks of all processes agree. If true, changes are ordered by time, even if the process of the
    /// later change did not know the earlier one.
    var clocksAgree = true
    /// The number of changes that were made before the file was last removed. They may be lost.
    private var forgotten = 0

    mutating func removed() { forgotten = changes.count }

    mutating func ended(_ private: Set<Int>) {
        for change in `private` { changes[change].hasEnded = true }
    }

    private func isBefore(_ a: Int, _ b: Int) -> Bool {
        let (first, second) = (changes[a], changes[b])
        if clocksAgree { return first.at < second.at }
        let isSession = first.value != nil && first.expires == nil
        return second.knows.contains(a)
            && (!isSession || first.process == second.process || second.keepsSession && first.isShared)
    }

    /// Returns whether the holder may hold the cookie of this change.
    private func isVisible(_ change: Change, to holder: Holder) -> Bool {
        guard change.value != nil else { return false }
        switch holder {
        case .file: return change.isShared
        case .process(let process, let keepsSession):
            if change.isPrivate { return change.process == process && !change.hasEnded }
            return change.expires != nil || keepsSession
        }
    }

    /// Describes the first rule that the cookies of a holder violate, or nil.
    ///
    /// - Parameter known: The changes that have reached the holder.
    func violation(
        _ content: CookieJar.Snapshot, _ known: Set<Int>, _ holder: Holder, _ now: Double
    ) -> String? {
        let held = Dictionary(content.cookies.map { ($0.identity, $0) }) { $1 }
        for name in SimulatedCookies.names.indices {
            let relevant = known.filter { changes[$0].name == name || changes[$0].name == nil }
            if let cookie = held[SimulatedCookies.identity(name)] {
                guard let shown = changes.firstIndex(where: { $0.name == name && $0.value == cookie.value }) else {
                    return "holds a cookie that was never stored"
                }
                if !known.contains(shown) { return "holds cookie \(name) of change \(shown), which it has not seen" }
                if !isVisible(changes[shown], to: holder) { return "holds session cookie \(shown) of another process" }
                let later = relevant.first {
                    isBefore(shown, $0) && $0 >= forgotten && !isHidden($0, name, from: holder)
                }
                if let later { return "holds cookie \(name) of change \(shown), which change \(later) has replaced" }
            } else if let last = relevant.first(where: { mustBeThere($0, among: relevant, holder, now) }) {
                return "has lost cookie \(name) of change \(last)"
            }
        }
        return nil
    }

    /// Returns whether the change may have no effect on the holder. This is the case if the change, or a later change,
    /// stored a session cookie that is not visible to the holder.
    private func isHidden(_ change: Int, _ name: Int, from holder: Holder) -> Bool {
        func isForOthers(_ change: Change) -> Bool {
            change.value != nil && change.expires == nil && !isVisible(change, to: holder)
        }
        return isForOthers(changes[change])
            || changes.indices.contains {
                changes[$0].name == name && isForOthers(changes[$0]) && isBefore(change, $0)
            }
    }

    /// Returns whether the holder must hold the cookie of this change, because no other change can have replaced it.
    private func mustBeThere(_ change: Int, among relevant: Set<Int>, _ holder: Holder, _ now: Double) -> Bool {
        guard isVisible(changes[change], to: holder), change >= forgotten else { return false }
        // The clocks differ by at most 6 s.
        if let expires = changes[change].expires, expires <= now + 6 { return false }
        return relevant.allSatisfy { $0 == change || isBefore($0, change) }
    }

    /// Describes the first difference between the cookies of a jar and of the file, or nil. Ignores names for which a
    /// session cookie was stored, and cookies that may have expired.
    func difference(_ jar: CookieJar.Snapshot, _ file: CookieJar.Snapshot, _ now: Double) -> String? {
        for name in SimulatedCookies.names.indices {
            let identity = SimulatedCookies.identity(name)
            let hasSession = changes.contains { $0.name == name && $0.value != nil && $0.expires == nil }
            let (inJar, inFile) = (
                jar.cookies.first { $0.identity == identity }, file.cookies.first { $0.identity == identity }
            )
            let isExpiring = [inJar, inFile].contains { $0?.isExpired(at: now + 6) ?? false }
            guard !hasSession, !isExpiring, inJar?.value != inFile?.value else { continue }
            return "cookie \(name) is \(inJar?.value ?? "missing") and \(inFile?.value ?? "missing")"
        }
        return nil
    }
}
