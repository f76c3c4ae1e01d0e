import NightjarHTTP

/// The cookies and the cache of a sandboxed script. The script cannot read or change its host's cookies and cache. All
/// other stages are shared with the host, so the client's limits count the calls of both.
final class SandboxState: ChainOwner {
    let chain: Chain

    /// - Parameter cacheBytes: The size of the script's cache in bytes.
    init(_ client: Client, cacheBytes: Int) {
        chain = client.loop.chain.replacing { stage in
            if stage is Cookies { return Cookies(CookieStorage()) }
            guard let cache = stage as? Cache,
                let storage = try? CacheStorage(CacheStorage.Settings(memory: cacheBytes))
            else { return nil }
            return Cache(storage, nil, cache.loginCookies, cache.storing)
        }
    }
}

extension Client {
    /// Returns the restrictions for the calls of a sandboxed script.
    ///
    /// - Parameters:
    ///   - origins: The origins that the script may request in addition to the base URL's origin.
    ///   - scope: The path that limits requests to the base URL's origin; nil: the path of the base URL.
    ///   - memory: Counts the memory held for the calls; nil: the memory is not counted.
    ///   - cacheBytes: The size of the script's cache in bytes.
    package func sandbox(
        origins: [Origin], scope: PathScope?, memory: (any MemoryAccount)?, cacheBytes: Int
    ) throws(NightjarError) -> Confinement {
        var scopes: [(origin: Origin, scope: PathScope)] = []
        if let base = template.base {
            if let scope {
                scopes.append((base.origin, scope))
            } else {
                scopes.append((base.origin, try PathScope(base.path)))
            }
            if let pathScope { scopes.append((base.origin, pathScope)) }
        } else if scope != nil {
            throw NightjarError(
                .invalidArgument, "a path scope requires a client with a base URL")
        }
        return Confinement(
            origins: origins + [baseOrigin].compactMap { $0 }, scopes: scopes, isSandbox: true, memory: memory,
            sandboxState: SandboxState(self, cacheBytes: cacheBytes))
    }
}

/// The limits that the call options of a sandboxed script can tighten but not loosen.
struct CallBounds: Sendable {
    private let timeouts: Timeouts
    private let redirect: RedirectSettings
    private let retry: RetrySettings

    init(_ configuration: Configuration) {
        timeouts = configuration.timeouts
        redirect = configuration.redirect
        retry = configuration.retry
    }

    func timeouts(_ requested: Timeouts) -> Timeouts {
        func shorter(_ requested: Duration?, _ limit: Duration?) -> Duration? {
            guard let limit, limit > .zero else { return requested }
            guard let requested, requested > .zero else { return limit }
            return min(requested, limit)
        }
        return Timeouts(
            connect: shorter(requested.connect, timeouts.connect), idle: shorter(requested.idle, timeouts.idle),
            total: shorter(requested.total, timeouts.total))
    }

    func redirect(_ requested: RedirectSettings) -> RedirectSettings {
        var settings = requested
        settings.follows = requested.follows && redirect.follows
        settings.maximum = min(requested.maximum, redirect.maximum)
        settings.allowsDowngrade = requested.allowsDowngrade && redirect.allowsDowngrade
        settings.respectsRetryAfter = requested.respectsRetryAfter || redirect.respectsRetryAfter
        settings.longestWait = min(requested.longestWait, redirect.longestWait)
        return settings
    }

    func retry(_ requested: RetrySettings) -> RetrySettings {
        var settings = requested
        settings.maximumAttempts = min(requested.maximumAttempts, retry.maximumAttempts)
        settings.base = max(requested.base, retry.base)
        settings.cap = max(requested.cap, retry.cap)
        settings.longestWait = min(requested.longestWait, retry.longestWait)
        return settings
    }
}
