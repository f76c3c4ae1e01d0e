/// The proxy configuration of a client.
public struct ProxySettings: Hashable, Sendable {
    /// The address, protocol and credentials of a proxy.
    public typealias Address = ProxyAddress

    /// The source of the proxy address.
    public enum Source: Hashable, Sendable {
        /// The environment variables `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, and their variants in
        /// capital letters except `HTTP_PROXY`, as curl reads them. See `ProxyRules`.
        case environment
        /// No proxy, regardless of the environment.
        case off
        /// This proxy, regardless of the environment.
        case address(ProxyAddress)
    }

    public var source: Source
    /// The hosts that are accessed directly, in the syntax of no_proxy. Nil uses no_proxy with ``Source/environment``,
    /// and no exceptions with ``Source/address(_:)``.
    public var exceptions: String?

    public init(_ source: Source = .environment, exceptions: String? = nil) {
        self.source = source
        self.exceptions = exceptions
    }

    /// Returns the rules that select the proxy for each origin.
    ///
    /// - Parameter variable: returns the value of an environment variable.
    public func rules(environment variable: (String) -> String?) -> ProxyRules {
        switch source {
        case .off: .off
        case .address(let proxy): ProxyRules(proxy, exceptions: ProxyExceptions(exceptions ?? ""))
        case .environment: ProxyRules(environment: variable, exceptions: exceptions.map(ProxyExceptions.init))
        }
    }
}
