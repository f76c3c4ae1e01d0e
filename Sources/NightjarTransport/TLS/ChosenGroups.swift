import NIOCore

/// The groups of the key exchange that servers have chosen, by peer. Bounded.
///
/// A ClientHello with a key share only for the group that the server will choose takes a tenth less CPU time for the
/// connection, if the server does not support the hybrid key exchange.
struct ChosenGroups {
    private struct Entry {
        let group: UInt16
        let expiry: NIODeadline
    }

    private var entries: [String: Entry] = [:]

    /// Returns the group that a peer has chosen. Nil if unknown.
    func group(for peer: String, at now: NIODeadline) -> UInt16? {
        guard let entry = entries[peer], entry.expiry > now else { return nil }
        return entry.group
    }

    /// - Parameter group: The group of a connection; 0: none.
    mutating func insert(_ group: UInt16, for peer: String, at now: NIODeadline) {
        // The same choice does not extend the lifetime, because a single key share may have caused the choice.
        if let entry = entries[peer], entry.group == group, entry.expiry > now { return }
        entries[peer] = nil
        guard group != 0 else { return }
        if entries.count >= ChosenGroups.maximumPeers { entries = [:] }
        entries[peer] = Entry(group: group, expiry: now + ChosenGroups.lifetime)
    }

    mutating func remove(for peer: String) { entries[peer] = nil }

    /// After this time, shares for the hybrid key exchange and a classical group are sent again. Some servers use any
    /// share that they support, and would otherwise not use the hybrid key exchange after they begin to support it.
    private static let lifetime = TimeAmount.hours(1)
    private static let maximumPeers = 256
}
