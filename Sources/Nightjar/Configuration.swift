import NightjarHTTP
import NightjarTransport

/// How a client behaves. Checked and copied by `Client.init`; changing it later changes nothing.
public struct Configuration: Sendable {
    /// Joined to relative targets; absolute http or https. Nil: every target must be absolute.
    public var baseURL: String?
    /// Sent with every request that does not set the same name itself.
    public var headers = Headers()
    /// The User-Agent field; nil sends none.
    public var userAgent: String? = "nightjar/\(Version.string)"
    /// Limits of time for calls that set none of their own.
    public var timeouts = Timeouts(connect: .seconds(5), idle: .seconds(30), total: .seconds(300))
    /// Bytes of content that a collected response may have before the call fails with `too_large`; at most
    /// ``largestBody``, however much is set.
    public var maximumBody = 256 << 20
    /// What connections are made, kept and how TLS trusts.
    public var transport = TransportConfiguration()
    /// What is done with redirects.
    public var redirect = RedirectSettings()
    /// Names of headers that a redirect never takes to another origin, beside those known for it (Authorization, Cookie,
    /// and names that speak of tokens, keys and secrets).
    public var sensitiveHeaders: [String] = []
    /// Where cookies are kept; nil: none are, nor sent. Several clients may share one.
    public var cookies: CookieStorage?
    /// Whether answers may come compressed (gzip, deflate, br, zstd), and are decompressed.
    public var decompresses = true
    /// Takes log lines; nil: none are made.
    public var log: LogSink?
    /// Run before and after each call; nil: none do.
    public var hooks: CallHooks?
    /// See each call and each exchange.
    public var observers: [CallObserver] = []

    public init() {}

    /// Bytes that a body in memory can have, a buffer's positions being of 32 bits. Stream what is larger.
    public static let largestBody = Int(Int32.max) - 1
}

/// The version of this library, as in `nj_version`.
public enum Version {
    public static let major = 0
    public static let minor = 1
    public static let patch = 0
    public static let string = "\(major).\(minor).\(patch)"
}
