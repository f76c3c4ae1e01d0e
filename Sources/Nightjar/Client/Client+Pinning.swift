import NightjarHTTP
import NightjarTransport
import Synchronization

extension Client {
    /// Changes the effect of certificate chains without a pinned key. The mode of a new client is `enforce`.
    ///
    /// The mode applies to all connections that are opened for later calls. TLS sessions of another mode are not
    /// resumed. If the mode becomes stricter, open connections to pinned hosts are not used for later calls. Has no
    /// effect on a client without pins.
    ///
    /// - Throws: `closed`; `forked`.
    public func setPinning(_ mode: TransportConfiguration.TLS.Pinning.Mode) throws(NightjarError) {
        guard !Fork.hasForked(since: forkGeneration) else { throw Client.forked }
        let isAccepted = loop.submit(
            .run { [loop, network] in
                network?.setPinning(mode)
                loop.note(mode == .enforce ? .info : .warning, "certificate pinning was set to \(mode.rawValue)")
            })
        guard isAccepted else { throw NightjarError(.closed, "the client is closed") }
    }
}

extension ClientLoop {
    /// Writes the log line of an event of certificate pinning.
    func note(_ event: PinningEvent) {
        switch event {
        case .mismatch(let report) where report.isEnforced:
            note(.error, "\(report.description); the connection was closed")
        case .mismatch(let report):
            note(.warning, "\(report.description); the connection is used, because the mismatch is only reported")
        case .noBackup(let host):
            note(
                .warning,
                "the certificate chain of \(host) contains all of its pinned keys, so the client rejects the server "
                    + "after a change of its keys; add the pin of a backup key that is kept offline")
        }
    }
}

extension ClientLoop {
    /// Writes the log line of an event of the key log.
    func note(_ event: KeyLogEvent) {
        switch event {
        case .started(let file):
            note(
                .warning,
                "the keys of TLS connections are written to \(quoted(file)) (tls.key_log_file), so anyone who can read "
                    + "this file can decrypt the traffic")
        case .failed(let file, let reason):
            note(.error, "writing TLS keys to \(quoted(file)) failed: \(reason); the connections are not affected")
        }
    }
}

extension Configuration {
    /// Sets the callback for certificate chains without a pinned key. The callback runs on `queue`. While 64
    /// reports wait in the queue, further reports are discarded.
    public mutating func reportPinMismatches(
        on queue: CompletionQueue, to body: @escaping @Sendable (TransportConfiguration.TLS.Pinning.Report) -> Void
    ) {
        let pending = PendingReports()
        transport.tls.onPinMismatch = { report in
            guard pending.admit() else { return }
            queue.run {
                pending.remove()
                body(report)
            }
        }
    }
}

/// Counts the reports that wait in a queue.
private final class PendingReports: Sendable {
    private let count: Atomic<Int> = Atomic(0)

    func admit() -> Bool {
        guard count.load(ordering: .relaxed) < PendingReports.maximum else { return false }
        count.add(1, ordering: .relaxed)
        return true
    }

    func remove() { count.subtract(1, ordering: .relaxed) }

    private static let maximum = 64
}
