/// Certificate pinning: the public keys that the certificate chains of hosts must contain.
///
/// A pin is the SHA-256 digest of a public key with its algorithm (RFC 7469 section 2.4). A chain matches if at least
/// one of its certificates has a pinned key. Only chains that were verified before are compared, because a server can
/// add any certificate to the chain that it sends (RFC 7469 section 2.6).
///
/// The rules read no clock: the time is a parameter.
public struct Pinning: Sendable, Equatable {
    /// The pins by host pattern. The name of a host takes precedence over a wildcard.
    public var pins: [HostPattern: Pins]

    public init(_ pins: [HostPattern: Pins] = [:]) { self.pins = pins }

    /// Returns the pins of a host. Nil if the host is not pinned.
    ///
    /// - Parameter host: In the form of ``Origin/host``.
    public func pins(for host: String) -> Pins? {
        guard !pins.isEmpty, let pattern = HostPattern.best(pins.keys, for: host) else { return nil }
        return pins[pattern]
    }

    /// Decides whether a host may use a certificate chain.
    ///
    /// - Parameters:
    ///   - host: In the form of ``Origin/host``.
    ///   - chain: The pins of the verified chain, the server's certificate first, the trust anchor last.
    package func decide(_ host: String, chain: [Pin], now: Timestamp, mode: Mode) -> Decision {
        guard mode != .off, let pins = pins(for: host) else { return .notPinned }
        let known = Set(chain)
        guard pins.all.contains(where: known.contains) else {
            let isPastDate = pins.reportOnlyAfter.map { now >= $0 } ?? false
            return .mismatch(
                Report(host: host, expected: pins.all, served: chain, isEnforced: mode == .enforce && !isPastDate))
        }
        return pins.all.allSatisfy(known.contains) ? .matchedWithoutBackup : .matched
    }

    /// The result of ``decide(_:chain:now:mode:)``.
    package enum Decision: Equatable, Sendable {
        case notPinned
        case matched
        /// The chain contains all pinned keys. If the server loses its keys, no pin remains for a new key (RFC 7469
        /// section 4.3).
        case matchedWithoutBackup
        /// The connection fails if the report is enforced. Otherwise, the mismatch is only reported.
        case mismatch(Report)
    }
}

extension Pinning {
    /// The effect of a mismatch. The order is from the weakest mode to the strictest.
    public enum Mode: String, Sendable, Comparable, CaseIterable {
        /// Pins are not compared.
        case off
        /// Mismatches are reported, and the connections are used.
        case report
        /// Mismatches are reported, and the connections fail with `pin_mismatch` unless ``Pins/reportOnlyAfter`` has
        /// passed.
        case enforce

        /// Throws `invalid_argument` for an unknown name.
        package init(named name: String) throws(NightjarError) {
            guard let mode = Mode(rawValue: name) else {
                throw NightjarError(
                    .invalidArgument, "the pinning mode must be \"enforce\", \"report\" or \"off\", got \(quoted(name))"
                )
            }
            self = mode
        }

        private var strictness: Int {
            switch self {
            case .off: 0
            case .report: 1
            case .enforce: 2
            }
        }

        public static func < (a: Mode, b: Mode) -> Bool { a.strictness < b.strictness }
    }

    /// A certificate chain without a pinned key.
    public struct Report: Sendable, Equatable {
        public let host: String
        /// The pins of the configuration.
        public let expected: [Pin]
        /// The pins of the verified certificate chain: the server's first, the trust anchor's last.
        public let served: [Pin]
        /// Whether the connection failed. False: the mismatch was only reported.
        public let isEnforced: Bool

        /// One line for developers.
        public var description: String {
            func list(_ pins: [Pin]) -> String { pins.map(\.description).joined(separator: ", ") }
            return
                "the certificate chain of \(host) has none of the pinned keys: expected \(list(expected)); the chain "
                + "has \(list(served))"
        }
    }
}
