import DequeModule

/// Lets the requests that miss the same answer at the same time share one fetch of it. RFC 9111 section 4.
///
///     nobody ──wants──▶ led ──stored──▶ those who wait look again
///                        ├──not to be stored, or failed──▶ those who wait go on, each for itself
///                        └──leader leaves──▶ the next leads, the others wait on
///
/// An answer that cannot be stored is good for one alone, and to have waited for its head was in vain: of such keys it is
/// known for a while, and nobody waits.
public struct SharedFetches: Sendable {
    /// One who wants an answer; numbered by the caller, never twice.
    public typealias Member = UInt64

    public enum Place: Equatable, Sendable {
        /// Fetches for all.
        case leads
        case waits
        /// Fetches for itself, and nobody waits for it.
        case isAlone
    }

    private struct Line {
        var leader: Member
        /// In the order in which they came, those who have left among them.
        var waiting: Deque<Member> = []
        var present: Set<Member> = []

        mutating func next() -> Member? {
            while let first = waiting.popFirst() {
                if present.remove(first) != nil { return first }
            }
            return nil
        }
    }

    private var lines: [CacheKey: Line] = [:]
    /// Whose last answer could not be stored.
    private var shunned: Set<CacheKey> = []

    public init() {}

    /// A miss, or an answer that has to be validated.
    public mutating func wants(_ key: CacheKey, _ member: Member) -> Place {
        if isKnownNotStorable(key) { return .isAlone }
        guard var line = lines.removeValue(forKey: key) else {
            lines[key] = Line(leader: member)
            return .leads
        }
        defer { lines[key] = line }
        guard line.leader != member else { return .leads }
        line.waiting.append(member)
        line.present.insert(member)
        return .waits
    }

    /// Whether the last response of the key could not be stored.
    public func isKnownNotStorable(_ key: CacheKey) -> Bool { !shunned.isEmpty && shunned.contains(key) }

    /// The leader's answer is there.
    ///
    /// - Returns: those who look again.
    public mutating func stored(_ key: CacheKey, by member: Member) -> [Member] {
        shunned.remove(key)
        return end(key, member)
    }

    /// The leader's answer is for it alone.
    ///
    /// - Returns: those who go on, each for itself.
    public mutating func notStorable(_ key: CacheKey, by member: Member) -> [Member] {
        if shunned.contains(key) { return [] }
        if shunned.count >= SharedFetches.mostShunned { shunned.removeAll() }
        shunned.insert(key)
        return end(key, member)
    }

    /// The leader has no answer. To fail one after the other would take the last too long.
    ///
    /// - Returns: those who go on, each for itself.
    public mutating func failed(_ key: CacheKey, by member: Member) -> [Member] { end(key, member) }

    /// It wants no answer any more, or has one.
    ///
    /// - Returns: who leads from now on, where somebody has to.
    public mutating func left(_ key: CacheKey, _ member: Member) -> Member? {
        guard var line = lines.removeValue(forKey: key) else { return nil }
        guard line.leader == member else {
            line.present.remove(member)
            lines[key] = line
            return nil
        }
        guard let next = line.next() else { return nil }
        line.leader = next
        lines[key] = line
        return next
    }

    /// Fetches that go on.
    public var count: Int { lines.count }

    private mutating func end(_ key: CacheKey, _ member: Member) -> [Member] {
        guard let line = lines[key], line.leader == member else { return [] }
        lines[key] = nil
        return line.waiting.filter(line.present.contains)
    }

    /// Keys take a hundred bytes or so; to forget one costs a wait for a head.
    private static let mostShunned = 1024
}
