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
            Option(name: "hosts") { value, path, tls throws(NightjarError) in
                tls.versionsByHost = try versionsByHost(value, path, tls.versions)
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

    private static func versionsByHost(
        _ value: JSONValue, _ path: String, _ standard: ClosedRange<Version>
    ) throws(NightjarError) -> [HostPattern: ClosedRange<Version>] {
        guard case .object(let members) = value else {
            throw .mismatch(path, expected: "a table of host patterns and options", value)
        }
        var hosts: [HostPattern: ClosedRange<Version>] = [:]
        for member in members {
            var versions = standard
            try versionOptions.apply(member.value, at: "\(path).\(member.name)", to: &versions)
            hosts[try HostPattern(member.name)] = versions
        }
        return hosts
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
