import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// An event of certificate pinning, for the client's log.
package enum PinningEvent: Sendable {
    case mismatch(Pinning.Report)
    /// The chain of this host contains all pinned keys. Reported once for each client.
    case noBackup(host: String)
}

/// Compares the certificate chains of one client's connections with its pins. Used on the loop.
final class PinCheck {
    private let rules: Pinning
    private let report: (@Sendable (Pinning.Report) -> Void)?
    private var hasWarned = false
    private(set) var mode = Pinning.Mode.enforce
    /// Receives the events. Set before the first connection.
    var observer: ((PinningEvent) -> Void)?

    init(_ configuration: TransportConfiguration.TLS) {
        rules = Pinning(configuration.pins)
        report = configuration.onPinMismatch
    }

    /// Returns the mode for a host. Nil if the host is not pinned.
    func mode(for host: String) -> Pinning.Mode? { rules.pins(for: host) == nil ? nil : mode }

    /// - Returns: Whether the mode is stricter than before.
    func set(_ mode: Pinning.Mode) -> Bool {
        defer { self.mode = mode }
        return mode > self.mode
    }

    /// Returns the error of a connection that the pins forbid. Nil if the connection may be used.
    ///
    /// - Parameters:
    ///   - chain: The verified certificate chain.
    ///   - mode: The mode with which the connection started.
    func check(_ chain: [Certificate], of host: String, mode: Pinning.Mode) -> NightjarError? {
        guard mode != .off else { return nil }
        let pins = chain.compactMap { Pinning.Pin(digest: $0.publicKeyDigest) }
        switch rules.decide(host, chain: pins, now: PinCheck.now, mode: mode) {
        case .notPinned, .matched:
            return nil
        case .matchedWithoutBackup:
            if !hasWarned { observer?(.noBackup(host: host)) }
            hasWarned = true
            return nil
        case .mismatch(let mismatch):
            observer?(.mismatch(mismatch))
            report?(mismatch)
            guard mismatch.isEnforced else { return nil }
            return NightjarError(
                .pinMismatch,
                mismatch.description + "; the connection is intercepted, or the server has new keys and tls.pins must "
                    + "be updated", phase: .tls)
        }
    }

    private static var now: Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        // With the epoch, dates are in the future, so mismatches are enforced.
        return Timestamp(secondsSince1970: Int64(now.tv_sec)) ?? .epoch
    }
}
