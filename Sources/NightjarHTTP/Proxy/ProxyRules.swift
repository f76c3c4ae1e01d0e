/// How an origin is reached.
public enum ProxyRoute: Hashable, Sendable {
    case direct
    case proxy(ProxyAddress)
}

/// Which proxy a request goes through. Made once for a client.
public struct ProxyRules: Sendable {
    private typealias Choice = Result<ProxyRoute, NightjarError>

    private let http: Choice
    private let https: Choice
    private let exceptions: ProxyExceptions

    /// No proxy, whatever the environment says.
    public static let off = ProxyRules(
        http: .success(.direct), https: .success(.direct), exceptions: ProxyExceptions(""))

    private init(http: Choice, https: Choice, exceptions: ProxyExceptions) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// One proxy for all origins but `exceptions`, whatever the environment says.
    public init(_ proxy: ProxyAddress, exceptions: ProxyExceptions = ProxyExceptions("")) {
        self.init(http: .success(.proxy(proxy)), https: .success(.proxy(proxy)), exceptions: exceptions)
    }

    /// What the environment says, read as curl 8 reads it: `http_proxy`, `https_proxy` or `HTTPS_PROXY`, for either
    /// `all_proxy` or `ALL_PROXY` where there is none, `no_proxy` or `NO_PROXY`. An empty variable is none.
    ///
    /// There is no `HTTP_PROXY`: a CGI program has the client's field `Proxy` under that name (CVE-2016-5385).
    ///
    /// - Parameters:
    ///   - variable: the value of an environment variable.
    ///   - exceptions: in the place of no_proxy; nil: what that says.
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

    /// - Throws: `invalid_url` when the proxy for `origin` is one that cannot be used: to go without one, past what
    ///   somebody has set up, would be worse than to fail.
    public func route(to origin: Origin) throws(NightjarError) -> ProxyRoute {
        exceptions.contains(host: origin.host) ? .direct : try (origin.isTLS ? https : http).get()
    }
}
