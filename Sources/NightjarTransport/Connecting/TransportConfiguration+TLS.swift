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
        /// The trusted certificate authorities as PEM text, instead of ``certificateAuthorityFile``.
        public var certificateAuthorities: [UInt8]?
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
        /// Called for each certificate chain of a pinned host without a pinned key, unless pinning is off. Runs on the
        /// client's loop thread and must not block.
        public var onPinMismatch: (@Sendable (Pinning.Report) -> Void)?

        /// The certificate for the origin of the client's base URL. A server receives it only if the server requests a
        /// certificate. Other origins never receive it.
        public var clientCertificate: ClientCertificate?
        /// The certificates by host pattern. For the origin of the base URL, ``clientCertificate`` takes precedence.
        public var clientCertificatesByHost: [HostPattern: ClientCertificate] = [:]
        /// A file to which the client appends the keys of its connections in the NSS key log format, for Wireshark and
        /// other programs that decrypt recorded traffic. Anyone who can read the file can decrypt the connections. The
        /// client logs a warning. The environment variable SSLKEYLOGFILE has no effect. Nil: keys are not written.
        public var keyLogFile: String?
        /// Whether handshakes wait for the decisions of a ``ConnectionChallenge``.
        package var requestsDecisions = false
        /// The origin that may receive ``clientCertificate``.
        package var baseOrigin: Origin?

        public init() {}

        /// Returns the client certificate that a peer may receive.
        func clientCertificate(for peer: Peer) -> ClientCertificate? {
            if let baseOrigin, let clientCertificate, peer.origin == baseOrigin { return clientCertificate }
            guard !clientCertificatesByHost.isEmpty else { return nil }
            return HostPattern.best(clientCertificatesByHost.keys, for: peer.host)
                .flatMap { clientCertificatesByHost[$0] }
        }

        /// Returns the permitted versions for a host.
        func versions(for host: String) -> ClosedRange<Version> {
            guard !versionsByHost.isEmpty, let pattern = HostPattern.best(versionsByHost.keys, for: host) else {
                return versions
            }
            return versionsByHost[pattern] ?? versions
        }
    }
}
