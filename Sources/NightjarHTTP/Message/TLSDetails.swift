/// The TLS connection on which a response arrived.
public final class TLSDetails: Sendable {
    /// A certificate that the server has sent.
    public struct Certificate: Sendable, Equatable {
        /// The subject and the issuer in the form of RFC 2253, such as `CN=example.com,O=Example`.
        public var subject: String
        public var issuer: String
        /// The DNS names and IP addresses for which the certificate is valid.
        public var names: [String]
        /// The first and the last second in which the certificate is valid.
        public var notBefore: Timestamp
        public var notAfter: Timestamp
        /// The type and the size of the public key in bits, such as `RSA 2048`.
        public var key: String
        /// The pin of the public key: `sha256/` and the Base64 form of its digest (RFC 7469 section 2.4).
        public var pin: String

        package init(
            subject: String, issuer: String, names: [String], notBefore: Timestamp, notAfter: Timestamp, key: String,
            pin: String
        ) {
            self.subject = subject
            self.issuer = issuer
            self.names = names
            self.notBefore = notBefore
            self.notAfter = notAfter
            self.key = key
            self.pin = pin
        }
    }

    /// The version: `1.2` or `1.3`.
    public let version: String
    /// The cipher suite by its IANA name, such as `TLS_AES_128_GCM_SHA256`.
    public let cipher: String
    /// The key exchange, such as `X25519MLKEM768`. Empty for a key exchange with the server's RSA key.
    public let group: String
    /// Whether the client did not offer the hybrid key exchange X25519MLKEM768, because the server or a middlebox had
    /// reset a connection with this key exchange.
    public let isClassical: Bool
    /// Whether the connection has resumed an earlier session. The server then sends no certificates.
    public let isResumed: Bool
    /// The protocol that the server has chosen with ALPN (RFC 7301). Nil if the server has chosen none.
    public let applicationProtocol: String?
    private let readChain: @Sendable () -> [Certificate]

    /// - Parameter readChain: Returns the certificates. Called each time ``chain`` is read.
    package init(
        version: String, cipher: String, group: String, isClassical: Bool, isResumed: Bool,
        applicationProtocol: String?,
        readChain: @escaping @Sendable () -> [Certificate]
    ) {
        self.version = version
        self.cipher = cipher
        self.group = group
        self.isClassical = isClassical
        self.isResumed = isResumed
        self.applicationProtocol = applicationProtocol
        self.readChain = readChain
    }

    /// The certificates that the server has sent, its own first. A resumed connection has the certificates of
    /// the first connection. The certificates are decoded at each access.
    public var chain: [Certificate] { readChain() }
}

extension TLSDetails {
    /// The details as the JSON object that Lua and C programs receive.
    package var jsonText: String { (try? json.encoded()).map { String(buffer: $0) } ?? "{}" }

    /// Times are seconds since 1970.
    private var json: JSONValue {
        var members = [
            JSONValue.Member("version", .string(version)), JSONValue.Member("cipher", .string(cipher)),
            JSONValue.Member("group", .string(group)), JSONValue.Member("resumed", .bool(isResumed)),
        ]
        if let applicationProtocol { members.append(JSONValue.Member("alpn", .string(applicationProtocol))) }
        members.append(JSONValue.Member("chain", .array(chain.map(\.json))))
        return .object(members)
    }
}

extension TLSDetails.Certificate {
    /// The certificate as the JSON object that Lua and C programs receive.
    package var json: JSONValue {
        .object([
            JSONValue.Member("subject", .string(subject)), JSONValue.Member("issuer", .string(issuer)),
            JSONValue.Member("names", .array(names.map(JSONValue.string))),
            JSONValue.Member("not_before", .integer(notBefore.seconds)),
            JSONValue.Member("not_after", .integer(notAfter.seconds)), JSONValue.Member("key", .string(key)),
            JSONValue.Member("pin", .string(pin)),
        ])
    }
}
