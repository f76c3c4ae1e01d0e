/// The settings of TLS connections that ``TLSContext`` applies.
package struct TLSSettings: Hashable, Sendable {
    /// The certificate authorities that the client trusts.
    package enum Authorities: Hashable, Sendable {
        /// The bundle of the operating system.
        case system
        /// The certificates in PEM form.
        case pem([UInt8])
    }

    package var authorities = Authorities.system
    /// Whether the server's certificate chain and name are verified.
    package var verifiesCertificates = true
    package var minimumVersion = TLSVersion.v1_2
    package var maximumVersion = TLSVersion.v1_3
    /// The protocols for ALPN in order of preference (RFC 7301). Empty: the extension is not sent.
    package var applicationProtocols: [String] = []
    package var weakAlgorithms = WeakAlgorithms()

    package init() {}
}

/// A version of TLS.
package enum TLSVersion: String, Comparable, Hashable, Sendable, CaseIterable {
    /// RFC 5246.
    case v1_2 = "1.2"
    /// RFC 8446.
    case v1_3 = "1.3"

    package static func < (a: TLSVersion, b: TLSVersion) -> Bool { a.rawValue < b.rawValue }
}

/// Weak algorithms that a client accepts only if its settings name them. Some old servers support nothing else.
package struct WeakAlgorithms: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Cipher suites in CBC mode, which were the target of padding attacks. TLS 1.2 only.
    package static let cbc = WeakAlgorithms(rawValue: 1)
    /// Key exchange with the server's RSA key, which has no forward secrecy. TLS 1.2 only.
    package static let rsaKeyExchange = WeakAlgorithms(rawValue: 2)
    /// SHA-1 in the signatures of certificates and handshakes.
    package static let sha1 = WeakAlgorithms(rawValue: 4)
    /// RSA keys of 1024 to 2047 bits.
    package static let rsa1024 = WeakAlgorithms(rawValue: 8)
}
