/// The restriction of a client to https and wss URLs, with exceptions.
public struct HTTPSOnly: Hashable, Sendable {
    /// A host name, an IP address, or a wildcard such as `*.example.com`.
    public typealias HostPattern = NightjarHTTP.HostPattern

    /// The hosts to which http and ws URLs are allowed.
    public let exceptions: [HostPattern]

    public init() { exceptions = [] }

    /// - Parameter exceptions: Host names, IP addresses, and wildcards such as `*.internal`, which match names with exactly
    ///   one more label.
    /// - Throws: `invalid_argument` if a pattern is invalid.
    public init(except exceptions: [String]) throws(NightjarError) {
        self.exceptions = try exceptions.map { text throws(NightjarError) in
            try HostPattern(text, allowsTopLevel: true)
        }
    }

    /// Returns the error for a URL that is not allowed; nil if it is allowed. Unix sockets are allowed.
    package func refusal(of url: RequestURL) -> NightjarError? {
        let origin = url.origin
        guard !origin.isTLS, origin.socket == nil, !exceptions.contains(where: { $0.matches(origin.host) }) else {
            return nil
        }
        return NightjarError(
            .invalidRequest,
            "requests to \(origin) are not allowed, because https_only is set; use https, or add "
                + "\(quoted(origin.host)) to https_only.except")
    }
}
