import Foundation

/// Certificates for TLS on loopback: a certificate authority, valid server certificates, and server certificates with
/// one error each. The `openssl` command creates them once per test run. Names are `localhost`, `127.0.0.1` and `::1`,
/// keys are P-256, and the authority is the issuer, unless stated otherwise.
public final class TestCertificates: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        case trusted
        /// For `other.example` only.
        case wrongName
        /// Expired in 2020.
        case expired
        /// Valid from 2048.
        case notYetValid
        case selfSigned
        /// For `*.example.com`, `*.com` and `127.0.0.1` only.
        case wildcard, wildcardTopLevel, addressOnly
        /// With the extended key usage for clients only.
        case clientOnly
        /// With an RSA key of 2048 or 1024 bits.
        case rsa2048, rsa1024
        /// With a SHA-1 signature.
        case sha1
        /// Issued by another key of an authority with the same name.
        case forged

        // With chains of intermediate certificates:

        case intermediate, missingIntermediate, expiredIntermediate
        /// The issuer is limited to `example.com` by name constraints.
        case constrained
        /// The issuer is not a certificate authority.
        case issuedByServer
        /// The issuer has an RSA key of 1024 bits, or a SHA-1 signature.
        case weakIntermediate, sha1Intermediate
        /// With 10 and with 11 intermediate certificates.
        case longChain, tooLongChain
        /// The chain has the intermediate certificate twice: first issued by an unknown authority.
        case crossSigned
        /// The chain has the authority's certificate, but issued by an unknown authority, and expired.
        case crossSignedRoot
    }

    /// Returns the certificates, which the first call creates. If the creation fails, every call throws.
    public static func shared() throws -> TestCertificates { try result.get() }

    private static let result = Result { try TestCertificates() }

    /// The path of the authority's certificate (PEM).
    public var authority: String { directory.file("authority.pem") }
    /// Returns the path of a server certificate (PEM).
    public func certificate(_ kind: Kind) -> String { directory.file("\(kind.rawValue).pem") }
    /// The path of the private key of the certificates with a P-256 key (PEM).
    public var key: String { directory.file("key.pem") }
    /// Returns the path of the private key of a server certificate (PEM).
    public func key(_ kind: Kind) -> String {
        switch kind {
        case .rsa2048: directory.file("rsa2048-key.pem")
        case .rsa1024: directory.file("rsa1024-key.pem")
        default: key
        }
    }

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
        try selfSign("unknown", key: "key.pem", subject: "/CN=Unknown authority", extensions: "authority")
        try selfSign("imposter", key: "key.pem", subject: "/CN=Nightjar test authority", extensions: "authority")
        try selfSign("selfSigned", key: "key.pem", subject: "/CN=localhost", extensions: "loopback")
        for bits in [2048, 1024] {
            try openssl(
                ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)", "-out", "rsa\(bits)-key.pem"])
            try request("rsa\(bits)-request", key: "rsa\(bits)-key.pem")
        }
        try request("request", key: "key.pem")
        try request("authority-request", key: "authority-key.pem")
        try issueServerCertificates()
        try issueChains()
    }

    private func issueServerCertificates() throws {
        try issue(.trusted)
        try issue(.wrongName, extensions: "other")
        try issue(.expired, end: "20200101000000Z")
        try issue(.notYetValid, start: "20480101000000Z")
        try issue(.wildcard, extensions: "wildcard")
        try issue(.wildcardTopLevel, extensions: "wildcardTopLevel")
        try issue(.addressOnly, extensions: "addressOnly")
        try issue(.clientOnly, extensions: "clientOnly")
        try issue(.rsa2048, request: "rsa2048-request")
        try issue(.rsa1024, request: "rsa1024-request")
        try issue(.sha1, digest: "sha1")
        try issue(.forged, by: Issuer("imposter", key: "key.pem"))
    }

    private func issueChains() throws {
        let names = ["good", "old", "limited", "weak", "digest"]
        try issueIntermediate("good")
        try issueIntermediate("old", end: "20200101000000Z")
        try issueIntermediate("limited", extensions: "constrained")
        try issueIntermediate("weak", request: "rsa1024-request")
        try issueIntermediate("digest", digest: "sha1")
        let kinds: [Kind] = [.intermediate, .expiredIntermediate, .constrained, .weakIntermediate, .sha1Intermediate]
        for (name, kind) in zip(names, kinds) {
            let key = name == "weak" ? "rsa1024-key.pem" : "key.pem"
            try issue(kind, by: Issuer(name, key: key), followedBy: [name])
        }
        try issueIntermediate("server", extensions: "loopback")
        try issue(.missingIntermediate, by: Issuer("good", key: "key.pem"))
        try issue(.issuedByServer, by: Issuer("server", key: "key.pem"), followedBy: ["server"])

        var chain: [String] = []
        for depth in 1...11 {
            let issuer = chain.first.map { Issuer($0, key: "key.pem") } ?? .authority
            try issueIntermediate("depth\(depth)", by: issuer)
            chain.insert("depth\(depth)", at: 0)
        }
        try issue(.tooLongChain, by: Issuer("depth11", key: "key.pem"), followedBy: chain)
        try issue(.longChain, by: Issuer("depth10", key: "key.pem"), followedBy: Array(chain.dropFirst()))

        let unknown = Issuer("unknown", key: "key.pem")
        try issueIntermediate("cross", subject: "/CN=good", by: unknown)
        try issue(.crossSigned, by: Issuer("good", key: "key.pem"), followedBy: ["cross", "good"])
        try issueIntermediate(
            "cross-root", subject: "/CN=Nightjar test authority", by: unknown, request: "authority-request",
            end: "20200101000000Z")
        try issue(.crossSignedRoot, followedBy: ["cross-root"])
    }

    private func selfSign(_ name: String, key: String, subject: String, extensions: String) throws {
        try openssl([
            "req", "-x509", "-config", "openssl.cnf", "-key", key, "-subj", subject, "-days", "30", "-extensions",
            extensions,
            "-out", "\(name).pem",
        ])
    }

    private func request(_ name: String, key: String) throws {
        try openssl([
            "req", "-new", "-config", "openssl.cnf", "-key", key, "-subj", "/CN=test", "-out", "\(name).pem",
        ])
    }

    /// A certificate and its private key.
    private struct Issuer {
        static let authority = Issuer("authority", key: "authority-key.pem")
        let name: String
        let key: String

        init(_ name: String, key: String) {
            self.name = name
            self.key = key
        }
    }

    /// Issues a server certificate. The names of the following certificates of its chain are in `chain`.
    private func issue(
        _ kind: Kind, extensions: String = "loopback", by issuer: Issuer = .authority, request: String = "request",
        digest: String = "sha256", start: String = "20190101000000Z", end: String = "20490101000000Z",
        followedBy chain: [String] = []
    ) throws {
        try issue(
            kind.rawValue,
            ["-subj", "/CN=test", "-extensions", extensions, "-startdate", start, "-enddate", end, "-md", digest],
            issuer,
            request)
        guard !chain.isEmpty else { return }
        let files = try ([kind.rawValue] + chain).map { try directory.read("\($0).pem") }
        try directory.write("\(kind.rawValue).pem", Bytes(Array(files.joined())))
    }

    /// Issues the certificate of a certificate authority.
    private func issueIntermediate(
        _ name: String, subject: String? = nil, extensions: String = "authority", by issuer: Issuer = .authority,
        request: String = "request", digest: String = "sha256", end: String = "20490101000000Z"
    ) throws {
        let subject = subject ?? "/CN=\(name)"
        try issue(
            name,
            [
                "-subj", subject, "-extensions", extensions, "-startdate", "20190101000000Z", "-enddate", end, "-md",
                digest,
            ], issuer, request)
    }

    /// `openssl x509` is not used, because it cannot set the end date before OpenSSL 3.4.
    private func issue(_ name: String, _ options: [String], _ issuer: Issuer, _ request: String) throws {
        try openssl(
            [
                "ca", "-batch", "-notext", "-config", "openssl.cnf", "-cert", "\(issuer.name).pem", "-keyfile",
                issuer.key,
            ]
                + ["-in", "\(request).pem", "-out", "\(name).pem"] + options)
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
        [wildcard]
        basicConstraints = critical, CA:false
        subjectAltName = DNS:*.example.com
        [wildcardTopLevel]
        basicConstraints = critical, CA:false
        subjectAltName = DNS:*.com
        [addressOnly]
        basicConstraints = critical, CA:false
        subjectAltName = IP:127.0.0.1
        [clientOnly]
        basicConstraints = critical, CA:false
        extendedKeyUsage = clientAuth
        subjectAltName = DNS:localhost, IP:127.0.0.1, IP:::1
        [constrained]
        basicConstraints = critical, CA:true
        keyUsage = critical, keyCertSign, cRLSign
        nameConstraints = critical, permitted;DNS:example.com

        """
}
