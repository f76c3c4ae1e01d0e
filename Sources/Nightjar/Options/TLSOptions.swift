import NightjarHTTP
import NightjarTransport

extension TransportConfiguration.TLS {
    /// The options of `tls`.
    static let options = OptionTable<TransportConfiguration.TLS>(
        [
            Option(name: "ca_file") { value, path, tls throws(NightjarError) in
                tls.certificateAuthorityFile = try value.text(path)
            },
            Option(name: "ca") { value, path, tls throws(NightjarError) in
                tls.certificateAuthorities = Array(try value.text(path).utf8)
            },
            Option(name: "verify") { value, path, tls throws(NightjarError) in
                tls.verifiesCertificates = try value.flag(path)
            },
            Option(name: "allow_weak") { value, path, tls throws(NightjarError) in
                tls.weakAlgorithms = []
                for (index, name) in try value.texts(path).enumerated() {
                    tls.weakAlgorithms.insert(try weakAlgorithm(name, "\(path)[\(index + 1)]"))
                }
            },
            Option(name: "client_certificate") { value, path, tls throws(NightjarError) in
                tls.clientCertificate = try ClientCertificate(option: value, path)
            },
            Option(name: "hosts") { value, path, tls throws(NightjarError) in
                try tls.readHosts(value, path)
            },
            Option(name: "key_log_file") { value, path, tls throws(NightjarError) in
                tls.keyLogFile = try value.text(path)
            },
            Option(name: "pins") { value, path, tls throws(NightjarError) in
                tls.pins = try Pinning(option: value, path).pins
            },
        ] + versionOptions.lifted(to: \.versions))

    private static let versionOptions = OptionTable<ClosedRange<Version>>([
        Option(name: "min_version") { value, path, versions throws(NightjarError) in
            let minimum = try version(value, path)
            versions = minimum...max(minimum, versions.upperBound)
        },
        Option(name: "max_version") { value, path, versions throws(NightjarError) in
            let maximum = try version(value, path)
            versions = min(maximum, versions.lowerBound)...maximum
        },
    ])

    /// The options of one host pattern.
    private struct HostOptions {
        var versions: ClosedRange<Version>
        var clientCertificate: ClientCertificate?

        static let options = OptionTable<HostOptions>(
            [
                Option(name: "client_certificate") { value, path, host throws(NightjarError) in
                    host.clientCertificate = try ClientCertificate(option: value, path)
                }
            ] + versionOptions.lifted(to: \.versions))
    }

    private mutating func readHosts(_ value: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object(let members) = value else {
            throw .mismatch(path, expected: "a table of host patterns and options", value)
        }
        versionsByHost = [:]
        clientCertificatesByHost = [:]
        for member in members {
            let pattern = try HostPattern(member.name)
            var host = HostOptions(versions: versions)
            try HostOptions.options.apply(member.value, at: "\(path).\(member.name)", to: &host)
            versionsByHost[pattern] = host.versions
            if let certificate = host.clientCertificate { clientCertificatesByHost[pattern] = certificate }
        }
    }

    private static func version(_ value: JSONValue, _ path: String) throws(NightjarError) -> Version {
        let text = try value.text(path)
        guard let version = Version(rawValue: text) else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must be \"1.2\" or \"1.3\", got \(quoted(text))")
        }
        return version
    }

    private static func weakAlgorithm(_ name: String, _ path: String) throws(NightjarError) -> WeakAlgorithm {
        guard let algorithm = WeakAlgorithm(rawValue: name) else {
            let known = WeakAlgorithm.allCases.map { quoted($0.rawValue) }.joined(separator: ", ")
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must be one of \(known), got \(quoted(name))")
        }
        return algorithm
    }
}

extension TransportConfiguration.TLS.ClientCertificate {
    private struct Members {
        var file: String?
        var key: String?
        var pkcs12: String?
        var pem: String?
        var keyPEM: String?
        var pkcs12Bytes: [UInt8]?
        var password: String?

        static let options = OptionTable<Members>([
            Option(name: "file") { value, path, members throws(NightjarError) in members.file = try value.text(path) },
            Option(name: "key") { value, path, members throws(NightjarError) in members.key = try value.text(path) },
            Option(name: "pkcs12") { value, path, members throws(NightjarError) in
                members.pkcs12 = try value.text(path)
            },
            Option(name: "pem") { value, path, members throws(NightjarError) in members.pem = try value.text(path) },
            Option(name: "key_pem") { value, path, members throws(NightjarError) in
                members.keyPEM = try value.text(path)
            },
            Option(name: "pkcs12_base64") { value, path, members throws(NightjarError) in
                guard let bytes = Base64.decode(try value.text(path).utf8.filter { !($0 == 0x20 || 0x09...0x0D ~= $0) })
                else { throw NightjarError(.invalidArgument, "option \(quoted(path)) must be valid Base64") }
                members.pkcs12Bytes = bytes
            },
            Option(name: "password") { value, path, members throws(NightjarError) in
                members.password = try value.text(path)
            },
        ])

        /// Nil unless exactly one form is set.
        var format: Format? {
            switch (file, pkcs12, pem, pkcs12Bytes) {
            case (let file?, nil, nil, nil) where keyPEM == nil: .pem(certificates: file, key: key ?? file)
            case (nil, let archive?, nil, nil) where key == nil && keyPEM == nil: .pkcs12(archive)
            case (nil, nil, let text?, nil) where key == nil:
                .pemContents(certificates: Array(text.utf8), key: Array((keyPEM ?? text).utf8))
            case (nil, nil, nil, let bytes?) where key == nil && keyPEM == nil: .pkcs12Contents(bytes)
            default: nil
            }
        }
    }

    /// Reads the file names `{ file, key, password }` or `{ pkcs12, password }`, or the contents `{ pem, key_pem,
    /// password }` or `{ pkcs12_base64, password }`. Without `key` or `key_pem`, the certificate's file or text also
    /// contains the key.
    init(option value: JSONValue, _ path: String) throws(NightjarError) {
        let members = try Members.options.applied(value, at: path, to: Members())
        guard let format = members.format else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) must have exactly one of \"file\" (and \"key\", if the key is in a file of its "
                    + "own), \"pkcs12\", \"pem\" (and \"key_pem\", if the key is in a text of its own) and "
                    + "\"pkcs12_base64\"")
        }
        self.init(format, password: members.password)
    }
}
