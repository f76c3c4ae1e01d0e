/// The proxy configuration of a client. ``rules(environment:)`` converts it to the rules that are applied to each
/// origin.
public struct ProxySettings: Hashable, Sendable {
    public enum Source: Hashable, Sendable {
        /// The environment variables `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy` and their variants, as curl
        /// reads them: see ``ProxyRules``.
        case environment
        /// No proxy, regardless of the environment.
        case off
        /// This proxy, regardless of the environment.
        case address(ProxyAddress)
    }

    public var source: Source
    /// The hosts that are accessed directly, in the syntax of no_proxy. Nil: no_proxy with ``Source/environment``,
    /// otherwise none.
    public var exceptions: String?

    public init(_ source: Source = .environment, exceptions: String? = nil) {
        self.source = source
        self.exceptions = exceptions
    }

    /// - Parameter variable: returns the value of an environment variable.
    package func rules(environment variable: (String) -> String?) -> ProxyRules {
        switch source {
        case .off: .off
        case .address(let proxy): ProxyRules(proxy, exceptions: ProxyExceptions(exceptions ?? ""))
        case .environment: ProxyRules(environment: variable, exceptions: exceptions.map(ProxyExceptions.init))
        }
    }
}
