internal import CNIOBoringSSL
import NightjarSystem

/// The certificate authorities that a client trusts.
enum TrustStore {
    /// The files in which systems install the bundle of certificate authorities.
    private static let systemBundles = [
        "/etc/ssl/certs/ca-certificates.crt",  // Debian, Ubuntu, Arch, Gentoo, Alpine
        "/etc/pki/tls/certs/ca-bundle.crt",  // Fedora, RHEL
        "/etc/ssl/ca-bundle.pem",  // openSUSE
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // CentOS 7
        "/etc/ssl/cert.pem",  // macOS
    ]

    /// Adds the authorities to a store. The system's bundle is read from disk.
    static func add(_ authorities: TLSSettings.Authorities, to store: OpaquePointer) throws(TLSFailure) {
        switch authorities {
        case .system:
            guard let bundle = systemBundles.first(where: { access($0, R_OK) == 0 }) else {
                throw TLSFailure(
                    .invalidSettings,
                    "the system has no bundle of certificate authorities; install ca-certificates or set tls.ca_file")
            }
            guard X509_STORE_load_locations(store, bundle, nil) == 1 else {
                throw TLSFailure(.invalidSettings, "reading \(bundle) failed: \(TLSFailure.latest().detail)")
            }
            ERR_clear_error()
        case .pem(let text):
            for certificate in try Certificate.certificates(pem: text) {
                guard X509_STORE_add_cert(store, certificate.x509) == 1 else { throw TLSFailure.latest() }
            }
        }
    }
}

extension Certificate {
    /// Returns the contents of a file, such as certificates in PEM form.
    ///
    /// - Throws: `invalidSettings` if the file cannot be read or has more than 16 MiB.
    package static func contents(ofFile path: String) throws(TLSFailure) -> [UInt8] {
        guard let file = fopen(path, "re") else {
            throw TLSFailure(.invalidSettings, String(cString: strerror(errno)))
        }
        defer { fclose(file) }
        var contents: [UInt8] = []
        while contents.count <= maximumFileSize {
            let part = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
                count = fread(buffer.baseAddress, 1, buffer.count, file)
            }
            if part.isEmpty { break }
            contents += part
        }
        guard ferror(file) == 0 else { throw TLSFailure(.invalidSettings, String(cString: strerror(errno))) }
        guard contents.count <= maximumFileSize else {
            throw TLSFailure(.invalidSettings, "the file has more than \(maximumFileSize) bytes")
        }
        return contents
    }

    /// The system's bundle has about 200 KB.
    private static let maximumFileSize = 16 << 20

    /// Reads all certificates of a PEM text (RFC 7468). Other blocks and text between blocks are ignored.
    ///
    /// - Throws: `invalidSettings` if the text has no certificate, or an invalid one; `outOfMemory`.
    package static func certificates(pem text: [UInt8]) throws(TLSFailure) -> [Certificate] {
        try text.withUnsafeBytes { bytes -> Result<[Certificate], TLSFailure> in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, bytes.count) else {
                return .failure(TLSFailure(.outOfMemory, "out of memory"))
            }
            defer { BIO_free(bio) }
            var certificates: [Certificate] = []
            while let x509 = PEM_read_bio_X509(bio, nil, nil, nil) {
                certificates.append(Certificate(adopting: x509))
            }
            let error = ERR_peek_last_error()
            ERR_clear_error()
            // The end of the text is reported as a missing start line.
            guard ERR_GET_LIB(error) == CInt(ERR_LIB_PEM), ERR_GET_REASON(error) == PEM_R_NO_START_LINE else {
                let reason = ERR_reason_error_string(error).map { String(cString: $0) } ?? "unknown error"
                return .failure(
                    TLSFailure(.invalidSettings, "certificate \(certificates.count + 1) is invalid (\(reason))"))
            }
            guard !certificates.isEmpty else {
                return .failure(TLSFailure(.invalidSettings, "the text contains no certificate in PEM form"))
            }
            return .success(certificates)
        }.get()
    }
}
