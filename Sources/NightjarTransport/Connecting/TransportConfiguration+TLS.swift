import NightjarCrypto
import NightjarHTTP

extension TransportConfiguration {
    /// The TLS settings of a client's connections.
    public struct TLS: Sendable {
        public typealias HostPattern = NightjarHTTP.HostPattern
        public typealias Pinning = NightjarHTTP.Pinning
        public typealias Version = TLSVersion
        public typealias WeakAlgorithm = NightjarCrypto.WeakAlgorithm

        /// A PEM file of trusted certificate authorities. Nil: the system's trust store.
        public var certificateAuthorityFile: String?
        /// Whether the server's certificate and host name are verified. If false, an attacker can intercept every
        /// connection.
        public var verifiesCertificates = true
        /// The permitted versions. Default: 1.2 and 1.3.
        public var versions = Version.v1_2...Version.v1_3
        /// The permitted versions for single hosts, instead of ``versions``. The name of a host takes precedence over a
        /// wildcard.
        public var versionsByHost: [HostPattern: ClosedRange<Version>] = [:]
        /// The weak algorithms that are accepted. Default: none.
        public var weakAlgorithms: Set<WeakAlgorithm> = []
        /// The public keys of which a host's certificate chain must contain one, by host pattern. The name of a host
        /// takes precedence over a wildcard. Pins are compared after the chain was verified, so they require
        /// ``verifiesCertificates``. They also apply to https proxies.
        public var pins: [HostPattern: Pinning.Pins] = [:]
        /// Called for each certificate chain without a pinned key. Runs on the client's loop thread and must not block.
        public var onPinMismatch: (@Sendable (Pinning.Report) -> Void)?

        public init() {}

        /// Returns the permitted versions for a host.
        func versions(for host: String) -> ClosedRange<Version> {
            guard !versionsByHost.isEmpty, let pattern = HostPattern.best(versionsByHost.keys, for: host) else {
                return versions
            }
            return versionsByHost[pattern] ?? versions
        }
    }
}
