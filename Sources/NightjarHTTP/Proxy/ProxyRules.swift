/// How an origin is accessed.
package enum ProxyRoute: Hashable, Sendable {
    case direct
    case proxy(ProxyAddress)
}

/// Selects the proxy for each request. Created once per client.
package struct ProxyRules: Sendable {
    private typealias Choice = Result<ProxyRoute, NightjarError>

    private let http: Choice
    private let https: Choice
    private let exceptions: ProxyExceptions

    /// No proxy, regardless of the environment.
    package static let off = ProxyRules(
        http: .success(.direct), https: .success(.direct), exceptions: ProxyExceptions(""))

    private init(http: Choice, https: Choice, exceptions: ProxyExceptions) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// One proxy for all origins except `exceptions`, regardless of the environment.
    package init(_ proxy: ProxyAddress, exceptions: ProxyExceptions = ProxyExceptions("")) {
        self.init(http: .success(.proxy(proxy)), https: .success(.proxy(proxy)), exceptions: exceptions)
    }

    /// The proxies from the environment, as curl 8 reads it: `http_proxy`; `https_proxy` or `HTTPS_PROXY`; `all_proxy`
    /// or `ALL_PROXY` as the default for both; `no_proxy` or `NO_PROXY`. Empty variables are ignored.
    ///
    /// `HTTP_PROXY` is not used: in a CGI program it contains the client's `Proxy` field (CVE-2016-5385).
    ///
    /// - Parameters:
    ///   - variable: returns the value of an environment variable.
    ///   - exceptions: replaces no_proxy. Nil: no_proxy is used.
    package init(environment variable: (String) -> String?, exceptions: ProxyExceptions? = nil) {
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

    /// - Throws: `invalid_url` if the proxy for `origin` is invalid. Accessing the origin without the configured proxy
    ///   would be worse than failing.
    package func route(to origin: Origin) throws(NightjarError) -> ProxyRoute {
        exceptions.contains(host: origin.host) ? .direct : try (origin.isTLS ? https : http).get()
    }
}
