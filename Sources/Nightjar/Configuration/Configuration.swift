import NightjarHTTP
import NightjarStorage
import NightjarTesting
import NightjarTransport

/// The settings of a client. `Client.init` validates and copies them; later changes have no effect on the client.
public struct Configuration: Sendable {
    /// The cookies that identify a login.
    public typealias LoginCookies = NightjarHTTP.LoginCookies
    /// The restriction to https and wss URLs.
    public typealias HTTPSOnly = NightjarHTTP.HTTPSOnly
    /// The networks that calls may use, and the time that calls wait for a network.
    public typealias ConnectivitySettings = NightjarHTTP.ConnectivitySettings
    /// The action to take if a response does not match its endpoint's description.
    public typealias ResponseValidation = NightjarHTTP.ResponseValidation

    /// The base of relative targets: an absolute http or https URL, or the socket of a local daemon, as
    /// `unix:/run/docker.sock` or `http+unix://%2Frun%2Fdocker.sock/v1.40`. Nil: the first server of ``catalog`` or
    /// ``openAPI``; if there is none, every target must be absolute.
    public var baseURL: String?
    /// A path such as `/v1`. Requests to the origin of ``baseURL``, including redirects, must have this path or a path
    /// below it. Dot segments and encoded separators in the paths are rejected, because a server may resolve them to
    /// another path. Nil: any path.
    public var pathScope: String?
    /// The header fields of every request that does not set a field of the same name. If ``baseURL`` is set, other
    /// origins receive only the fields that ``forwardedHeaders`` describes.
    public var headers = Headers()
    /// The User-Agent field; nil sends none.
    public var userAgent: String? = "nightjar/\(Version.string)"
    /// The timeouts of calls that do not set timeouts. Default: connect 5 s, idle 30 s, total 300 s.
    public var timeouts = Timeouts(connect: .seconds(5), idle: .seconds(30), total: .seconds(300))
    /// The maximum size of a collected response body, in bytes; 64 MiB by default and at most ``largestBody``. A call
    /// that collects a larger body fails with `too_large`.
    public var maximumBody = 64 << 20
    /// Rejects calls to http and ws URLs, also those of redirects, pages, catalogs and logins. Nil: they are allowed.
    public var httpsOnly: HTTPSOnly?
    /// Connections, pooling, proxies, sockets and TLS trust.
    public var transport = TransportConfiguration()
    /// Resolves the names of servers and proxies in place of the system. Nil: the system resolves names.
    ///
    /// The `addresses` of the request are empty; the callback responds with the addresses of
    /// the host. The client caches them for 60 seconds, or until a connection fails or the network changes. The callback is
    /// not called for addresses, entries of ``TransportConfiguration/resolve``, Unix sockets, and names that a proxy
    /// resolves. While a call waits, its connect and total timeouts run.
    public var resolver: TransportConfiguration.AddressCallback?
    /// Decides for each connection to which addresses of its server it may be opened, after the name is resolved and
    /// ``TransportConfiguration/addressFilter`` has been applied. Nil: all of them.
    ///
    /// The callback responds with those of the request's `addresses` that it allows. It is not
    /// called for the addresses of proxies. As with a filter, requests to Unix sockets, and to names that a proxy resolves,
    /// fail. While a call waits, its connect and total timeouts run.
    public var onAddresses: TransportConfiguration.AddressCallback?
    /// The networks that calls may use, and the time that calls wait for a network.
    public var connectivity = ConnectivitySettings()
    /// The network as the client that is created from this configuration sees it.
    var clientNetwork = ClientNetwork()
    /// The limits of each origin.
    public var limits = LimitSettings()
    /// The limits of calls that name a group, regardless of their origin.
    public var limitGroups: ExactDictionary<LimitSettings> = [:]
    /// Whether identical safe calls share one exchange while it is in flight.
    public var coalesces = false
    /// How the client authenticates to the origin of its base URL. Nil: only with ``tokenProviders``, the user info of
    /// the base URL, or the credentials in ``headers``.
    public var auth: Authentication?
    /// Called when a login of ``auth`` has ended, unless that login has its own hook.
    public var onLoginRequired: LoginHook?
    /// Decides challenges: 401 responses that no login of the client could prevent, requests for a client certificate
    /// where none is configured, and verified certificate chains, which the callback can only reject. Nil: the defaults
    /// apply.
    ///
    /// While a call waits for a decision, its total timeout runs, and during a TLS handshake also its connect timeout.
    /// Passwords and certificates are used again for later calls, in memory only, until the server rejects them or
    /// ``Client/logOut(scheme:clearingCookies:on:finished:)`` is called.
    public var onChallenge: Authentication.ChallengeHandler?
    /// The callback of token stores that the host program implements; nil: none.
    package var hostTokens: HostTokenStore.Access?
    /// Token providers by security scheme name. They replace the token source in ``auth``.
    public var tokenProviders: ExactDictionary<TokenProvider> = [:]
    /// How often and how soon failed attempts are retried. With a maximum of one attempt, nothing is retried.
    public var retry = RetrySettings()
    /// The retry budget that all calls of the client share.
    public var retryBudget = RetryBudget.Settings()
    /// Whether the Retry-After field of a response (RFC 9110 section 10.2.3) is respected. If true, retries and
    /// redirects wait for the time that the field specifies, and other calls to the origin or the resource are held
    /// back until then. If false, the field is only reported in errors.
    public var respectsRetryAfter = true
    /// The name of a response field with which the API requests a pause in seconds, such as `Backoff`, also in successful
    /// responses. All calls to the origin, or of the call's limit group, are then held back. A pause lasts at most one
    /// day. Calls that would wait longer than ``RetrySettings/longestWait`` fail at once. Ignored where
    /// ``respectsRetryAfter`` is false. Nil: none.
    public var pauseHeader: String?
    /// How redirects are handled.
    public var redirect = RedirectSettings()
    /// Names of additional headers that carry credentials. Other sensitive headers are recognized by their names
    /// (Authorization, Cookie, X-JWT, Api_Key and so on) or their values (JSON Web Tokens, long random tokens). Values
    /// of sensitive headers are masked when requests are displayed and are never sent to another origin. The cache
    /// stores the responses to different values separately.
    public var sensitiveHeaders: [String] = []
    /// Names of header fields that are also sent to other origins: with redirects, next pages and absolute URLs. By
    /// default, other origins receive only fields that describe the client and its request (Accept, Accept-Language,
    /// User-Agent, Content-Type and so on). Authorization, Cookie and Host are not allowed in this list. The fields in
    /// ``sensitiveHeaders`` are never sent to other origins.
    public var forwardedHeaders: [String] = []
    /// ``forwardedHeaders``, validated by `Client.init`.
    var forwardedFields: ForwardedFields { (try? ForwardedFields(forwardedHeaders)) ?? .standard }
    /// The cookie jar, which several clients may share. Nil: cookies are not stored and not sent.
    public var cookies: CookieStorage?
    /// The cookie file that `Client.init` opens if ``cookies`` is nil.
    public var cookieFile: CookieFile?
    /// The cache, which several clients may share. Nil: responses are not cached.
    public var cache: CacheStorage?
    /// The settings of the cache that `Client.init` creates if ``cache`` is nil.
    public var cacheSettings: CacheStorage.Settings?
    /// The fresh responses that callers' threads can use without the loop. Created by `Client.init`.
    var freshResponses: FreshResponses?
    /// The tokens of the client that is created from this configuration.
    var sessions = TokenSessions()
    /// The default cache policy of calls.
    public var cachePolicy = CachePolicy.protocol
    /// The cookies that identify a login. The cache stores the responses for different values separately.
    public var loginCookies = LoginCookies.automatic
    /// The path of the journal of transfers with an id; see ``UploadSettings/id``. It is created with its folder, readable
    /// only by its owner. Any number of clients and processes may share it. Nil: `nightjar/journal.db` in XDG_STATE_HOME,
    /// or in `~/.local/state`.
    public var journalPath: String?
    /// The name of the event loop that this client shares with the other clients of this process that have the same name. Nil:
    /// the client has an event loop of its own.
    ///
    /// The clients of a shared loop use one thread for the network, one for name lookups and one for files, but no common
    /// connections, cookies or logins. A shared loop uses at most one processor core. The lookups run one after the other, so
    /// a name server that does not respond delays all of them. Work with files also runs one after the other, so a client
    /// with large transfers needs a loop of its own.
    public var sharedLoop: String?
    /// Whether the client writes nothing to disk. Options that would write to disk are then rejected.
    public var isEphemeral = false
    /// Whether compressed responses (gzip, deflate, br, zstd) are requested and decompressed.
    public var decompresses = true
    /// The endpoints of the API. The catalog's first server is the default base URL.
    public var catalog: Catalog?
    /// The path of an OpenAPI 3 or Swagger 2.0 document that `Client.init` reads. The document's endpoints are added to ``catalog``. If
    /// both have an endpoint of the same name, the endpoint of ``catalog`` is used. For a document at a URL, use
    /// ``Client/loadCatalog(from:)``.
    public var openAPI: String?
    /// The folder whose files an OpenAPI document in a file may reference; nil: the folder of the document.
    public var openAPIFolder: String?
    /// The value of the `auth` option if it has no `type` member; the catalog then determines the type.
    var schemeAuth: JSONValue?
    /// The action to take if a response does not match its endpoint's description.
    public var responseValidation = ResponseValidation.off
    /// Receives log lines; nil: nothing is logged.
    public var log: LogSink?
    /// The options for decoding responses, unless `decode`, an endpoint or a list has its own options. Nil: the options
    /// of the type itself.
    public var decoding: JSONDecodingOptions?
    /// The options for encoding the bodies of endpoints, unless an endpoint has its own options. ``Request/json(_:_:)``
    /// encodes without a client, so its options are an argument.
    public var encoding = JSONEncodingOptions()
    /// The code that runs around each asynchronous call, the first one outermost.
    public var middleware: [any Middleware] = []
    /// The hooks that run before and after each call; nil: none.
    public var hooks: CallHooks?
    /// Observers of each call and each exchange.
    public var observers: [CallObserver] = []
    /// The mock that responds instead of servers, which several clients may share. Nil: the network is used.
    public var mock: Mock?
    /// The cassette that records the network's exchanges or replays them; nil: none.
    public var cassette: CassetteOptions?
    /// Records the session's exchanges if neither a mock nor a cassette is set; nil: none.
    package var recording: SessionRecording?
    /// Degrades the network or the mock; nil: unchanged.
    public var network: NetworkProfile?

    public init() {}

    /// The maximum size of a body in memory in bytes, because buffer indexes have 32 bits. Stream larger bodies.
    public static let largestBody = Int(Int32.max) - 1
    /// The largest value of the option `max_body`: 2 GiB, which has the same effect as ``largestBody``.
    public static let largestBodyLimit = 2 << 30
}

extension Configuration {
    /// A cookie file; see ``CookieStorage/init(file:policy:keepsSession:)``.
    public struct CookieFile: Sendable, Equatable {
        public var path: String
        public var policy: CookiePolicy
        public var keepsSession: Bool

        public init(_ path: String, policy: CookiePolicy = .all, keepsSession: Bool = false) {
            self.path = path
            self.policy = policy
            self.keepsSession = keepsSession
        }
    }
}

extension Configuration {
    /// Returns this client's cookie jar. Opens the file if one is configured.
    ///
    /// - Throws: `invalid_argument` for an ephemeral client with a file, before the file is created; `storage`;
    ///   `forked` for the jar of a parent process.
    private func openCookies() throws(NightjarError) -> CookieStorage? {
        if isEphemeral, cookies.map({ $0.isPersistent }) ?? (cookieFile != nil) {
            throw NightjarError(
                .invalidArgument, "an ephemeral client writes nothing to disk, so it cannot have a cookie file")
        }
        if let cookies {
            try cookies.checkProcess()
            return cookies
        }
        return try cookieFile.map { file throws(NightjarError) in
            try CookieStorage(file: file.path, policy: file.policy, keepsSession: file.keepsSession)
        }
    }
}

extension Configuration {
    /// - Throws: `invalid_argument` for a scope without a base URL.
    func confinement(_ scope: PathScope?, _ base: RequestURL?) throws(NightjarError) -> Confinement? {
        guard let scope else { return nil }
        guard let base else {
            throw NightjarError(.invalidArgument, "path_scope requires a base URL; set base_url")
        }
        return Confinement(origins: nil, scopes: [(base.origin, scope)])
    }
}

extension Configuration {
    /// Returns this client's cache. Creates it if only settings are given.
    ///
    /// - Throws: `invalid_argument` for an ephemeral client with a disk cache, before anything is created, and for
    ///   invalid settings; `forked` for the cache of a parent process.
    private func openCache() throws(NightjarError) -> CacheStorage? {
        if isEphemeral, cache?.isPersistent ?? (cacheSettings?.disk != nil) {
            throw NightjarError(
                .invalidArgument, "an ephemeral client writes nothing to disk, so it cannot have a disk cache")
        }
        if let cache {
            guard !cache.isOfParent else { throw CacheStorage.forked }
            return cache
        }
        return try cacheSettings.map { settings throws(NightjarError) in try CacheStorage(settings) }
    }
}

extension Configuration {
    /// Opens the cookie jar and the cache of a client.
    mutating func openStores() throws(NightjarError) {
        guard !isEphemeral || journalPath == nil else {
            throw NightjarError(
                .invalidArgument, "an ephemeral client writes nothing to disk, so it cannot have a journal")
        }
        try checkTokenStores()
        cookies = try openCookies()
        cache = try openCache()
        freshResponses = makeFreshResponses()
    }

    /// - Throws: `invalid_argument` for an ephemeral client with a token store in a file, and for a host store without
    ///   a callback.
    private func checkTokenStores() throws(NightjarError) {
        let stores = logins.compactMap { $0.tokenLogin?.store }
        for case let store as HostTokenStore in stores where !store.isBound {
            throw NightjarError(
                .invalidArgument,
                "the token \(store.name) has no callback; set token_store (nj_config_set_token_store), or use another "
                    + "store")
        }
        guard isEphemeral, stores.contains(where: { $0 is FileTokenStore || $0 is SQLiteTokenStore }) else { return }
        throw NightjarError(
            .invalidArgument, "an ephemeral client writes nothing to disk, so it cannot have a token store in a file")
    }

    /// Returns the fresh responses that callers' threads can use without the loop. Nil without a cache, if hooks,
    /// observers, cookies or a log must process each call, or if Digest authentication or passwords of the challenge
    /// callback change requests.
    private func makeFreshResponses() -> FreshResponses? {
        guard onChallenge == nil, logins.allSatisfy({ $0.tokenLogin != nil }) else { return nil }
        guard hooks == nil, observers.isEmpty, cookies == nil, log.map({ $0.level < .info }) ?? true else { return nil }
        return cache.map(FreshResponses.init)
    }
}

extension Configuration: CustomReflectable {
    /// Omits secrets in the base URL and the headers.
    public var customMirror: Mirror {
        let base = baseURL.map { (try? RequestURL($0))?.description ?? "not a URL" }
        return Mirror(self, children: ["baseURL": base as Any, "headers": headers, "timeouts": timeouts])
    }
}

/// The library version, as in `nj_version`.
package enum Version {
    package static let major = 0
    package static let minor = 1
    package static let patch = 0
    package static let string = "\(major).\(minor).\(patch)"
}
