import NightjarHTTP

extension TransportConfiguration.TLS {
    /// A client certificate and its private key, from files or from memory.
    ///
    /// Files are read when the client is created. Later connections use a changed file. If it cannot be read, they use
    /// the earlier content.
    public struct ClientCertificate: Hashable, Sendable {
        public enum Format: Hashable, Sendable {
            /// A PEM file (RFC 7468) with the certificate and then the intermediate certificates, and a PEM file with the
            /// private key. Both may be the same file.
            case pem(certificates: String, key: String)
            /// A file with a PKCS #12 archive (RFC 7292): the certificate, its key and the intermediate certificates.
            case pkcs12(String)
            /// The contents of the files of ``pem(certificates:key:)``.
            case pemContents(certificates: [UInt8], key: [UInt8])
            /// The contents of the file of ``pkcs12(_:)``.
            case pkcs12Contents([UInt8])

            /// The names of the files, the certificate's first. Empty if the certificate is in memory.
            var files: [String] {
                switch self {
                case .pem(let certificates, let key): [certificates, key]
                case .pkcs12(let file): [file]
                case .pemContents, .pkcs12Contents: []
                }
            }
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

// The descriptions contain no key and no password.

extension TransportConfiguration.TLS.ClientCertificate: CustomStringConvertible, CustomReflectable {
    public var description: String { "client certificate (\(format))" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension TransportConfiguration.TLS.ClientCertificate.Format: CustomStringConvertible, CustomReflectable {
    public var description: String { files.isEmpty ? "in memory" : files.map { quoted($0) }.joined(separator: ", ") }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
