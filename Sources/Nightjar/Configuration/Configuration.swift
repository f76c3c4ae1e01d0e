import NightjarHTTP
import NightjarTransport

/// How a client behaves. Checked and copied by `Client.init`; changing it later changes nothing.
public struct Configuration: Sendable {
    /// Joined to relative targets; absolute http or https, or the socket of a local daemon: `unix:/run/docker.sock`,
    /// `http+unix://%2Frun%2Fdocker.sock/v1.40`. Nil: every target must be absolute.
    public var baseURL: String?
    /// Limits calls to the origin of ``baseURL``, redirects included, to this path and the paths below it: "/v1". Dot
    /// segments and encoded separators are rejected there, because a server may resolve them to another path. Nil: any
    /// path.
    public var pathScope: String?
    /// Sent with every request that does not set the same name itself.
    public var headers = Headers()
    /// The User-Agent field; nil sends none.
    public var userAgent: String? = "nightjar/\(Version.string)"
    /// Limits of time for calls that set none of their own.
    public var timeouts = Timeouts(connect: .seconds(5), idle: .seconds(30), total: .seconds(300))
    /// The largest content of a collected response, in bytes; 64 MiB by default and at most ``largestBody``. A call with
    /// a larger response fails with `too_large`.
    public var maximumBody = 64 << 20
    /// What connections are made, through which proxy or socket, which are kept, and how TLS trusts.
    public var transport = TransportConfiguration()
    /// What each origin is spared.
    public var limits = LimitSettings()
    /// What calls are spared that name a group, whatever their origin.
    public var limitGroups: ExactDictionary<LimitSettings> = [:]
    /// Whether safe calls that are alike share one exchange while it lasts.
    public var coalesces = false
    /// How the client shows who it is, to the origin of ``baseURL`` alone; nil: not at all.
    public var auth: Authentication?
    /// Told that a login of ``auth`` has ended, where that has no hook of its own.
    public var onLoginRequired: LoginHook?
    /// Asked for the tokens of security schemes, by their names, in place of what ``auth`` says of where they come from.
    public var tokenProviders: ExactDictionary<TokenProvider> = [:]
    /// How often and how soon what has failed is tried again. One attempt repeats nothing.
    public var retry = RetrySettings()
    /// What all calls of the client together may spend on repetitions.
    public var retryBudget = RetryBudget.Settings()
    /// Whether the Retry-After of a response (RFC 9110 section 10.2.3) is respected: retries and redirects wait as long as it
    /// asks, and other calls for the origin or the resource are held back meanwhile. False: the field is only reported in
    /// errors.
    public var respectsRetryAfter = true
    /// What is done with redirects.
    public var redirect = RedirectSettings()
    /// Names of headers that carry credentials, in addition to those recognized by their names (Authorization, Cookie,
    /// X-JWT, Api_Key and so on) and by their values (JSON Web Tokens, long random tokens). Their values are masked
    /// where requests are shown and are sent to no other origin. The cache stores the responses to different values
    /// separately.
    public var sensitiveHeaders: [String] = []
    /// Names of header fields that are also sent to other origins: with redirects, next pages and absolute URLs. By
    /// default, only fields that describe the client and its request are sent there (Accept, Accept-Language,
    /// User-Agent, Content-Type and so on). Authorization, Cookie and Host cannot be named, and the fields in
    /// ``sensitiveHeaders`` are never sent there.
    public var forwardedHeaders: [String] = []
    /// ``forwardedHeaders``, once `Client.init` has checked them.
    var forwardedFields: ForwardedFields { (try? ForwardedFields(forwardedHeaders)) ?? .standard }
    /// Where cookies are kept; nil: none are, nor sent. Several clients may share one.
    public var cookies: CookieStorage?
    /// The file of cookies that `Client.init` opens, where ``cookies`` is nil.
    public var cookieFile: CookieFileOptions?
    /// Where answers are kept to be given again; nil: they are not. Several clients may share one.
    public var cache: CacheStorage?
    /// The cache that `Client.init` makes, where ``cache`` is nil.
    public var cacheSettings: CacheStorage.Settings?
    /// Made by `Client.init`.
    var freshAnswers: FreshAnswers?
    /// The tokens of the client that is made.
    var sessions = TokenSessions()
    /// How calls use the cache that do not say it themselves.
    public var cachePolicy = CachePolicy.protocol
    /// The cookies that identify a login: the cache stores the responses for different ones apart.
    public var loginCookies = LoginCookies.automatic
    /// Whether the client leaves nothing on disk. It then refuses what would.
    public var isEphemeral = false
    /// Whether answers may come compressed (gzip, deflate, br, zstd), and are decompressed.
    public var decompresses = true
    /// What the API can do; its first server is the base URL of a client that has none.
    public var catalog: Catalog?
    /// An OpenAPI document that `Client.init` reads, whose endpoints are added to those of ``catalog``; where both have one
    /// of a name, that of ``catalog`` counts. The path of a file: what lies behind a URL a client loads
    /// (``Client/loadCatalog(from:)``).
    public var openAPI: String?
    /// The folder whose files an OpenAPI document in a file may reference; nil: the folder of the document.
    public var openAPIFolder: String?
    /// What ``merge(json:)`` was given as `auth` without a type, which the catalog tells.
    var schemeAuth: JSONValue?
    /// What is done about answers that are not as their endpoint describes them.
    public var responseValidation = ResponseValidation.off
    /// Takes log lines; nil: none are made.
    public var log: LogSink?
    /// Run before and after each call; nil: none do.
    public var hooks: CallHooks?
    /// See each call and each exchange.
    public var observers: [CallObserver] = []
    /// Answers in place of servers; nil: the network does. Several clients may share one.
    public var mock: Mock?
    /// Records what the network does to a file, or plays the file in its place; nil: neither.
    public var cassette: CassetteOptions?
    /// Keeps what the network does, where neither a mock nor a cassette is in its place; nil: nobody does.
    package var recording: SessionRecording?
    /// Makes the network worse than it is, or the mock; nil: it is as it is.
    public var network: NetworkProfile?

    public init() {}

    /// Bytes that a body in memory can have, a buffer's positions being of 32 bits. Stream what is larger.
    public static let largestBody = Int(Int32.max) - 1
    /// The largest value of a limit of such a body: 2 GiB, which is ``largestBody`` in effect.
    public static let largestBodyLimit = 2 << 30
}

/// A file of cookies, as ``CookieStorage/init(file:policy:keepsSession:)`` takes it.
public struct CookieFileOptions: Sendable, Equatable {
    public var path: String
    public var policy: CookieJar.Policy
    public var keepsSession: Bool

    public init(_ path: String, policy: CookieJar.Policy = .all, keepsSession: Bool = false) {
        self.path = path
        self.policy = policy
        self.keepsSession = keepsSession
    }
}

extension Configuration {
    /// Where this client's cookies are, with the file opened when there is one.
    ///
    /// - Throws: `invalid_argument` for an ephemeral client with a file, before anything is made; `storage`; `forked` for
    ///   the jar of a parent process.
    func openCookies() throws(NightjarError) -> CookieStorage? {
        if isEphemeral, cookies.map({ $0.isPersistent }) ?? (cookieFile != nil) {
            throw NightjarError(
                .invalidArgument, "an ephemeral client leaves nothing on disk, so it cannot have a cookie file")
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
            throw NightjarError(.invalidArgument, "path_scope needs a base URL, whose origin it is for; set base_url")
        }
        return Confinement(origins: nil, scopes: [(base.origin, scope)])
    }
}

extension Configuration {
    /// This client's cache, made where it is only described.
    ///
    /// - Throws: `invalid_argument` for an ephemeral client with a cache on disk, before anything is made; `forked` for the
    ///   cache of a parent process.
    func openCache() throws(NightjarError) -> CacheStorage? {
        if isEphemeral, cache?.isPersistent ?? (cacheSettings?.disk != nil) {
            throw NightjarError(
                .invalidArgument, "an ephemeral client leaves nothing on disk, so it cannot have a cache there")
        }
        if let cache {
            guard !cache.isOfParent else { throw CacheStorage.forked }
            return cache
        }
        return try cacheSettings.map { settings throws(NightjarError) in try CacheStorage(settings) }
    }
}

extension Configuration {
    /// Answers for the threads of callers; nil where hooks, observers, cookies or a log see each call, and where a challenge
    /// makes another request of it.
    func makeFreshAnswers() -> FreshAnswers? {
        guard logins.allSatisfy({ $0.tokenLogin != nil }) else { return nil }
        guard hooks == nil, observers.isEmpty, cookies == nil, log.map({ $0.level < .info }) ?? true else { return nil }
        return cache.map(FreshAnswers.init)
    }
}

extension Configuration: CustomReflectable {
    /// Without what is secret in the base URL and the headers.
    public var customMirror: Mirror {
        let base = baseURL.map { (try? RequestURL($0))?.description ?? "not a URL" }
        return Mirror(self, children: ["baseURL": base as Any, "headers": headers, "timeouts": timeouts])
    }
}

/// The version of this library, as in `nj_version`.
public enum Version {
    public static let major = 0
    public static let minor = 1
    public static let patch = 0
    public static let string = "\(major).\(minor).\(patch)"
}
