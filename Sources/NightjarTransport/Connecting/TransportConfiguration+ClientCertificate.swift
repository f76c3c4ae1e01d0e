import NightjarHTTP

extension TransportConfiguration.TLS {
    /// A client certificate and its private key in files, which are read when the client is created. Later connections
    /// use a changed file. If it cannot be read, they use the earlier content.
    public struct ClientCertificate: Hashable, Sendable {
        public enum Format: Hashable, Sendable {
            /// A PEM file (RFC 7468) with the certificate and then the intermediate certificates, and a PEM file with the
            /// private key. Both may be the same file.
            case pem(certificates: String, key: String)
            /// A PKCS #12 archive (RFC 7292) with the certificate, its key and the intermediate certificates.
            case pkcs12(String)
        }

        public var format: Format
        /// The password of an encrypted key or archive.
        public var password: String?

        public init(_ format: Format, password: String? = nil) {
            self.format = format
            self.password = password
        }
    }
}
