import Nightjar
import NightjarTransport
import Testing

/// The JSON form of certificates in memory and of the key log.
@Suite struct TLSOptionsTests {
    private typealias ClientCertificate = TransportConfiguration.TLS.ClientCertificate

    private func tls(_ json: String) throws(NightjarError) -> TransportConfiguration.TLS {
        var configuration = Configuration()
        try configuration.merge(json: #"{"tls": \#(json)}"#)
        return configuration.transport.tls
    }

    @Test func contentsAreInTheOptions() throws {
        let tls = try tls(#"{"ca": "authorities", "key_log_file": "/tmp/keys"}"#)
        #expect(tls.certificateAuthorities == Array("authorities".utf8))
        #expect(tls.certificateAuthorityFile == nil)
        #expect(tls.keyLogFile == "/tmp/keys")
    }

    @Test(arguments: [
        (
            #"{"pem": "a", "key_pem": "b", "password": "c"}"#,
            ClientCertificate(.pemContents(certificates: [97], key: [98]), password: "c")
        ),
        (#"{"pem": "a"}"#, ClientCertificate(.pemContents(certificates: [97], key: [97]))),
        (#"{"pkcs12_base64": "AQI\nD\n"}"#, ClientCertificate(.pkcs12Contents([1, 2, 3]))),
        (#"{"file": "a"}"#, ClientCertificate(.pem(certificates: "a", key: "a"))),
        (#"{"file": "a", "key": "b"}"#, ClientCertificate(.pem(certificates: "a", key: "b"))),
        (#"{"pkcs12": "a", "password": "c"}"#, ClientCertificate(.pkcs12("a"), password: "c")),
    ])
    func formOfAClientCertificate(json: String, certificate: TransportConfiguration.TLS.ClientCertificate) throws {
        #expect(try tls(#"{"client_certificate": \#(json)}"#).clientCertificate == certificate)
        let byHost = try tls(#"{"hosts": {"h.test": {"client_certificate": \#(json)}}}"#).clientCertificatesByHost
        #expect(Array(byHost.values) == [certificate])
    }

    @Test(arguments: [
        #"{}"#, #"{"key": "a"}"#, #"{"key_pem": "a"}"#, #"{"file": "a", "pem": "b"}"#, #"{"file": "a", "pkcs12": "b"}"#,
        #"{"file": "a", "key_pem": "b"}"#, #"{"pem": "a", "key": "b"}"#, #"{"pkcs12": "a", "key": "b"}"#,
        #"{"pkcs12": "a", "pkcs12_base64": "AQID"}"#, #"{"pkcs12_base64": "AQID", "key_pem": "b"}"#,
        #"{"pem": "a", "pkcs12_base64": "AQID"}"#,
    ])
    func oneFormIsRequired(json: String) {
        let error = #expect(throws: NightjarError.self) { try tls(#"{"client_certificate": \#(json)}"#) }
        #expect(error?.kind == .invalidArgument)
        #expect(
            error?.message.hasPrefix(
                #"option "tls.client_certificate" must have exactly one of "file" (and "key", if"#) == true)
    }

    @Test func invalidBase64IsNotRepeated() {
        let error = #expect(throws: NightjarError.self) {
            try tls(#"{"client_certificate": {"pkcs12_base64": "*secret*"}}"#)
        }
        #expect(error?.message == #"option "tls.client_certificate.pkcs12_base64" must be valid Base64"#)
    }

    @Test func authoritiesHaveOneForm() throws {
        var configuration = Configuration()
        try configuration.merge(json: #"{"tls": {"ca_file": "/dev/null", "ca": "text"}}"#)
        let error = #expect(throws: NightjarError.self) { try Client(configuration) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message == "tls.ca and tls.ca_file cannot be used together; set only one of them")
    }

    @Test func descriptionsHaveNoSecrets() {
        let secret = Array("PRIVATE".utf8)
        var configuration = Configuration()
        for format in [
            ClientCertificate.Format.pemContents(certificates: secret, key: secret), .pkcs12Contents(secret),
            .pem(certificates: "c.pem", key: "k.pem"),
        ] {
            let certificate = ClientCertificate(format, password: "hunter2")
            configuration.transport.tls.clientCertificate = certificate
            var dumped = ""
            dump(configuration.transport.tls, to: &dumped)
            for text in ["\(certificate)", "\(format)", "\(configuration.transport.tls)", dumped] {
                #expect(!text.contains("hunter2") && !text.contains("80"), "\(text)")
            }
        }
        #expect("\(ClientCertificate(.pem(certificates: "c", key: "k")))" == #"client certificate ("c", "k")"#)
    }

    @Test func ephemeralClientHasNoKeyLog() throws {
        var configuration = Configuration()
        configuration.isEphemeral = true
        configuration.transport.tls.keyLogFile = "/nonexistent/keys"
        let error = #expect(throws: NightjarError.self) { try Client(configuration) }
        #expect(error?.kind == .invalidArgument)
    }
}
