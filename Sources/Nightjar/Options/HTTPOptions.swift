import NightjarHTTP
import NightjarTransport

extension TransportConfiguration {
    /// The options of `http`.
    static let httpOptions = OptionTable<TransportConfiguration>([
        Option(name: "versions") { value, path, transport throws(NightjarError) in
            try transport.setVersions(try value.texts(path), path)
        }
    ])

    /// Sets the versions of HTTP by their names.
    ///
    /// - Parameter path: The name of the option in errors.
    /// - Throws: `invalid_argument` for an empty list and for other names than `1.1` and `2`.
    package mutating func setVersions(_ names: [String], _ path: String) throws(NightjarError) {
        var versions: Set<HTTPVersion> = []
        for (index, name) in names.enumerated() {
            versions.insert(try TransportConfiguration.version(name, "\(path)[\(index + 1)]"))
        }
        guard !versions.isEmpty else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must contain \"1.1\", \"2\" or both, got an empty list")
        }
        self.versions = versions
    }

    private static func version(_ name: String, _ path: String) throws(NightjarError) -> HTTPVersion {
        switch name {
        case "1.1": return .http1_1
        case "2": return .http2
        default:
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must be \"1.1\" or \"2\", got \(quoted(name))")
        }
    }
}
