/// Which proxies a client uses, as its configuration says it. ``rules(environment:)`` makes of it what is asked for each
/// origin.
public struct ProxySettings: Hashable, Sendable {
    public enum Source: Hashable, Sendable {
        /// `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy` and their like, as curl reads them: see ``ProxyRules``.
        case environment
        /// None, whatever the environment says.
        case off
        /// This one, whatever the environment says.
        case address(ProxyAddress)
    }

    public var source: Source
    /// The hosts that are reached directly, in the syntax of no_proxy; nil: with ``Source/environment`` what it says,
    /// otherwise none.
    public var exceptions: String?

    public init(_ source: Source = .environment, exceptions: String? = nil) {
        self.source = source
        self.exceptions = exceptions
    }

    /// - Parameter variable: the value of an environment variable.
    public func rules(environment variable: (String) -> String?) -> ProxyRules {
        switch source {
        case .off: .off
        case .address(let proxy): ProxyRules(proxy, exceptions: ProxyExceptions(exceptions ?? ""))
        case .environment: ProxyRules(environment: variable, exceptions: exceptions.map(ProxyExceptions.init))
        }
    }
}
