import Foundation

/// Certificates for TLS on loopback: a certificate authority, a valid server certificate, and server certificates with
/// one error each. The `openssl` command creates them once per test run.
public final class TestCertificates: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// Issued by the authority for `localhost`, `127.0.0.1` and `::1`.
        case trusted
        /// Issued by the authority for `other.example` only.
        case wrongName
        /// Issued by the authority for the same names as `trusted`, but expired in 2020.
        case expired
        /// Self-signed for the same names as `trusted`.
        case selfSigned
    }

    /// Returns the certificates, which the first call creates. If the creation fails, every call throws.
    public static func shared() throws -> TestCertificates { try result.get() }

    private static let result = Result { try TestCertificates() }

    /// The path of the authority's certificate (PEM).
    public var authority: String { directory.file("authority.pem") }
    /// Returns the path of a server certificate (PEM).
    public func certificate(_ kind: Kind) -> String { directory.file("\(kind.rawValue).pem") }
    /// The path of the private key of all server certificates (PEM).
    public var key: String { directory.file("key.pem") }

    private let directory: TemporaryDirectory

    private init() throws {
        directory = try TemporaryDirectory()
        try directory.write("openssl.cnf", TestCertificates.configuration)
        // The files that `openssl ca` requires.
        try directory.write("index.txt", "")
        try directory.write("serial", "01\n")
        let curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
        try openssl(["genpkey"] + curve + ["-out", "authority-key.pem"])
        try openssl(["genpkey"] + curve + ["-out", "key.pem"])
        try selfSign(
            "authority", key: "authority-key.pem", subject: "/CN=Nightjar test authority", extensions: "authority")
        try selfSign("selfSigned", key: "key.pem", subject: "/CN=localhost", extensions: "loopback")
        try openssl([
            "req", "-new", "-config", "openssl.cnf", "-key", "key.pem", "-subj", "/CN=test", "-out", "request.pem",
        ])
        try issue(.trusted, extensions: "loopback")
        try issue(.wrongName, extensions: "other")
        try issue(.expired, extensions: "loopback", end: "20200101000000Z")
    }

    private func selfSign(_ name: String, key: String, subject: String, extensions: String) throws {
        try openssl([
            "req", "-x509", "-config", "openssl.cnf", "-key", key, "-subj", subject, "-days", "30", "-extensions",
            extensions,
            "-out", "\(name).pem",
        ])
    }

    /// Issues a server certificate. `openssl x509` is not used, because it cannot set the end date before OpenSSL 3.4.
    private func issue(_ kind: Kind, extensions: String, end: String = "20490101000000Z") throws {
        try openssl([
            "ca", "-batch", "-notext", "-config", "openssl.cnf", "-in", "request.pem", "-extensions", extensions,
            "-startdate", "20190101000000Z", "-enddate", end, "-out", "\(kind.rawValue).pem",
        ])
    }

    private func openssl(_ arguments: [String]) throws {
        let result = try run("openssl", arguments, directory: directory.path)
        guard result.status == 0 else {
            throw ToolFailure(description: "openssl \(arguments.joined(separator: " ")): \(result.errors)")
        }
    }

    private static let configuration: Bytes = """
        [req]
        distinguished_name = name
        [name]
        [ca]
        default_ca = books
        [books]
        database = index.txt
        serial = serial
        new_certs_dir = .
        certificate = authority.pem
        private_key = authority-key.pem
        default_md = sha256
        policy = policy
        unique_subject = no
        [policy]
        commonName = supplied
        [authority]
        basicConstraints = critical, CA:true
        keyUsage = critical, keyCertSign, cRLSign
        subjectKeyIdentifier = hash
        [loopback]
        basicConstraints = critical, CA:false
        extendedKeyUsage = serverAuth
        subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1
        [other]
        basicConstraints = critical, CA:false
        extendedKeyUsage = serverAuth
        subjectAltName = DNS:other.example

        """
}
