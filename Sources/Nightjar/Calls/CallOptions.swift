import NIOCore
import NightjarHTTP

/// The options of a call, with the client's defaults applied.
struct CallSettings: Sendable {
    /// A timeout that is nil or 0 is unlimited.
    var timeouts: Timeouts
    var maximumBody: Int
    var expectedStatuses: [StatusRange] = []
    var schema: JSONSchema?
    var contract: ResponseContract?
    /// Whether the request is a GraphQL operation.
    var isGraphQL = false
    /// Whether the request may be repeated regardless of its method.
    var isIdempotent = false
    /// Nil: the client's setting.
    var redirect: RedirectSettings?
    /// Nil: the client's setting.
    var retry: RetrySettings?
    /// See ``Configuration/respectsRetryAfter``.
    var respectsRetryAfter = true
    var decompresses: Bool
    var usesCookies: Bool
    var coalesces = false
    /// Nil: the cache is not used.
    var cache: CachePolicy?
    /// A response of the program to store in the cache instead of sending a request.
    var insertion: CacheInsertion?
    var limitGroup: String?
    /// The tags of the resources that a successful write invalidates.
    var invalidates: [String] = []
    /// Nil: the client's settings.
    var connectivity: ConnectivitySettings?
    /// The number of the client's login whose credentials are sent, or nil.
    var login: Int?
    /// Whether a user name and a password may be requested of the caller.
    var requestsPassword = false
    var hooks: CallHooks?
    /// The restrictions of the call, or nil.
    var confinement: Confinement?
}

/// The immutable settings of a call. Repeated calls share one instance.
final class CallOptions: Sendable {
    private let settings: CallSettings
    let limits: Limits
    /// The stages that the call passes. Nil: the client's.
    let chain: Chain?

    init(_ settings: CallSettings) {
        let timeouts = settings.timeouts.limits
        var settings = settings
        settings.timeouts = timeouts
        self.settings = settings
        limits = Limits(
            total: timeouts.total.map { .nanoseconds($0.nanosecondsClamped) },
            idle: timeouts.idle.map { .nanoseconds($0.nanosecondsClamped) })
        chain = (settings.confinement?.sandboxState as? any ChainOwner)?.chain
    }

    /// The timeouts in the loop's units; nil: unlimited.
    struct Limits: Sendable {
        let total: TimeAmount?
        let idle: TimeAmount?
    }

    /// The options of a shared exchange or a background revalidation. The total timeout, the response contract, a
    /// response to insert and the hooks stay with the call of the program.
    var ofSharedExchange: CallOptions {
        var shared = settings
        shared.timeouts = Timeouts(connect: timeouts.connect, idle: timeouts.idle)
        shared.contract = nil
        shared.insertion = nil
        shared.hooks = nil
        return CallOptions(shared)
    }

    var timeouts: Timeouts { settings.timeouts }
    var maximumBody: Int { settings.maximumBody }
    var expectedStatuses: [StatusRange] { settings.expectedStatuses }
    var schema: JSONSchema? { settings.schema }
    var contract: ResponseContract? { settings.contract }
    var isGraphQL: Bool { settings.isGraphQL }
    var isIdempotent: Bool { settings.isIdempotent }
    var redirect: RedirectSettings? { settings.redirect }
    var retry: RetrySettings? { settings.retry }
    var respectsRetryAfter: Bool { settings.respectsRetryAfter }
    var decompresses: Bool { settings.decompresses }
    var usesCookies: Bool { settings.usesCookies }
    var coalesces: Bool { settings.coalesces }
    var cache: CachePolicy? { settings.cache }
    var insertion: CacheInsertion? { settings.insertion }
    var limitGroup: String? { settings.limitGroup }
    var invalidates: [String] { settings.invalidates }
    var connectivity: ConnectivitySettings? { settings.connectivity }
    var login: Int? { settings.login }
    var requestsPassword: Bool { settings.requestsPassword }
    var hooks: CallHooks? { settings.hooks }
    var confinement: Confinement? { settings.confinement }
}
