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
    package var versions = TLSVersion.v1_2...TLSVersion.v1_3
    /// The protocols for ALPN in order of preference (RFC 7301). Empty: the extension is not sent.
    package var applicationProtocols: [String] = []
    package var weakAlgorithms: Set<WeakAlgorithm> = []
    /// Whether connections pass their keys to ``TLSConnection/Options/logKeys``.
    package var logsKeys = false

    package init() {}
}

/// A version of TLS.
public enum TLSVersion: String, Comparable, Hashable, Sendable, CaseIterable {
    /// RFC 5246.
    case v1_2 = "1.2"
    /// RFC 8446.
    case v1_3 = "1.3"

    public static func < (a: TLSVersion, b: TLSVersion) -> Bool { a.rawValue < b.rawValue }
}

/// A weak algorithm that a client accepts only if its settings name it. Some old servers support nothing else.
public enum WeakAlgorithm: String, Hashable, Sendable, CaseIterable {
    /// Cipher suites in CBC mode, which were the target of padding attacks. TLS 1.2 only.
    case cbc
    /// Key exchange with the server's RSA key, which has no forward secrecy. TLS 1.2 only.
    case rsaKeyExchange = "rsa_key_exchange"
    /// SHA-1 in the signatures of certificates and handshakes.
    case sha1
    /// RSA keys of 1024 to 2047 bits.
    case rsa1024 = "rsa_1024"
}
