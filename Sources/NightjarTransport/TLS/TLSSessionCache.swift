import NightjarCrypto

/// The TLS sessions that a client can resume, by peer. In memory only, bounded.
struct TLSSessionCache {
    private struct Entry {
        var sessions: [TLSSession]
        var lastUse: UInt64
    }

    private var entries: [String: Entry] = [:]
    private var uses: UInt64 = 0

    /// Returns the newest session for a peer. A session for a single use is removed.
    mutating func session(for peer: String) -> TLSSession? {
        guard let session = entries[peer]?.sessions.last else { return nil }
        uses += 1
        entries[peer]?.lastUse = uses
        guard session.isSingleUse else { return session }
        entries[peer]?.sessions.removeLast()
        if entries[peer]?.sessions.isEmpty == true { entries[peer] = nil }
        return session
    }

    mutating func insert(_ sessions: [TLSSession], for peer: String) {
        uses += 1
        var entry = entries[peer] ?? Entry(sessions: [], lastUse: uses)
        entry.sessions = (entry.sessions + sessions).suffix(TLSSessionCache.maximumSessions)
        entry.lastUse = uses
        entries[peer] = entry
        guard entries.count > TLSSessionCache.maximumPeers else { return }
        if let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse }) { entries[oldest.key] = nil }
    }

    /// Removes the sessions for a peer, because a handshake has failed.
    mutating func removeSessions(for peer: String) { entries[peer] = nil }

    /// Servers of TLS 1.3 usually issue two sessions for each connection.
    private static let maximumSessions = 8
    private static let maximumPeers = 256
}
