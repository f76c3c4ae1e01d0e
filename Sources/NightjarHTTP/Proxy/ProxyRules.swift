/// The route to an origin: direct or through a proxy.
public enum ProxyRoute: Hashable, Sendable {
    case direct
    case proxy(ProxyAddress)
}

/// Selects the proxy for each origin.
public struct ProxyRules: Sendable {
    private typealias Choice = Result<ProxyRoute, NightjarError>

    private let http: Choice
    private let https: Choice
    private let exceptions: ProxyExceptions

    /// Uses no proxy, regardless of the environment.
    public static let off = ProxyRules(
        http: .success(.direct), https: .success(.direct), exceptions: ProxyExceptions(""))

    private init(http: Choice, https: Choice, exceptions: ProxyExceptions) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// Uses one proxy for all origins except `exceptions`, regardless of the environment.
    public init(_ proxy: ProxyAddress, exceptions: ProxyExceptions = ProxyExceptions("")) {
        self.init(http: .success(.proxy(proxy)), https: .success(.proxy(proxy)), exceptions: exceptions)
    }

    /// Uses the proxies from the environment, as curl 8 does: `http_proxy` for http; `https_proxy` or `HTTPS_PROXY` for
    /// https; `all_proxy` or `ALL_PROXY` as the default for both; `no_proxy` or `NO_PROXY` for the exceptions. Empty
    /// variables are ignored.
    ///
    /// `HTTP_PROXY` is not used. In a CGI program, the variable contains the `Proxy` field of the CGI request
    /// (CVE-2016-5385).
    ///
    /// - Parameters:
    ///   - variable: returns the value of an environment variable.
    ///   - exceptions: the exceptions instead of no_proxy. Nil uses no_proxy.
    public init(environment variable: (String) -> String?, exceptions: ProxyExceptions? = nil) {
        func choice(_ names: [String]) -> Choice {
            for name in names {
                guard let value = variable(name), !value.isEmpty else { continue }
                do throws(NightjarError) {
                    return .success(.proxy(try ProxyAddress(value)))
                } catch {
                    return .failure(NightjarError(error.kind, "the environment variable \(name): \(error.message)"))
                }
            }
            return .success(.direct)
        }
        let either = ["all_proxy", "ALL_PROXY"]
        let unproxied = ["no_proxy", "NO_PROXY"].lazy.compactMap(variable).first { !$0.isEmpty }
        self.init(
            http: choice(["http_proxy"] + either), https: choice(["https_proxy", "HTTPS_PROXY"] + either),
            exceptions: exceptions ?? ProxyExceptions(unproxied ?? ""))
    }

    /// Returns the route to an origin.
    ///
    /// - Throws: `invalid_url` if the proxy for `origin` is invalid. There is no fallback to a direct route.
    public func route(to origin: Origin) throws(NightjarError) -> ProxyRoute {
        exceptions.contains(host: origin.host) ? .direct : try (origin.isTLS ? https : http).get()
    }
}
