import NightjarHTTP
import NightjarTransport

extension TransportConfiguration.TLS {
    /// The options of `tls`.
    static let options = OptionTable<TransportConfiguration.TLS>(
        [
            Option(name: "ca_file") { value, path, tls throws(NightjarError) in
                tls.certificateAuthorityFile = try value.text(path)
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
        var password: String?

        static let options = OptionTable<Members>([
            Option(name: "file") { value, path, members throws(NightjarError) in members.file = try value.text(path) },
            Option(name: "key") { value, path, members throws(NightjarError) in members.key = try value.text(path) },
            Option(name: "pkcs12") { value, path, members throws(NightjarError) in
                members.pkcs12 = try value.text(path)
            },
            Option(name: "password") { value, path, members throws(NightjarError) in
                members.password = try value.text(path)
            },
        ])
    }

    /// Reads `{ file, key, password }` or `{ pkcs12, password }`. Without `key`, the file also contains the key.
    init(option value: JSONValue, _ path: String) throws(NightjarError) {
        let members = try Members.options.applied(value, at: path, to: Members())
        switch (members.file, members.pkcs12) {
        case (let file?, nil):
            self.init(.pem(certificates: file, key: members.key ?? file), password: members.password)
        case (nil, let archive?) where members.key == nil:
            self.init(.pkcs12(archive), password: members.password)
        default:
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) must have either \"file\" (and \"key\", if the key is in a file of its own) or "
                    + "\"pkcs12\"")
        }
    }
}
