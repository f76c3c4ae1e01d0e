import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A configuration that C fills step by step.
final class ConfigBox {
    var configuration = Configuration()
    var hooks = ConfiguredHooks() {
        didSet { configuration.hooks = hooks.hooks }
    }
    /// Applied to the configured logins when a client is created.
    var loginRequired: LoginHook?
    var texts = LentTexts()

    /// The configuration for a new client, including ``loginRequired``.
    var complete: Configuration {
        var configuration = configuration
        configuration.onLoginRequired = loginRequired
        return configuration
    }
}

/// Changes a configuration. Returns the status.
func changeConfig(
    _ config: OpaquePointer?, _ body: (inout Configuration) throws(NightjarError) -> Void
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<ConfigBox>.borrow(config), "config")
        try body(&box.configuration)
        box.texts = LentTexts()
    }
}

/// Converts a time limit in seconds; nil for `NJ_NO_LIMIT`, which is 0, and for infinity.
func limit(_ seconds: Double) throws(NightjarError) -> Duration? {
    if seconds == NJ_NO_LIMIT || seconds == .infinity { return nil }
    return try lifetime(seconds)
}

/// Converts a timeout in seconds; `Timeouts.unlimited` for `NJ_NO_LIMIT` and for infinity.
func timeout(_ seconds: Double) throws(NightjarError) -> Duration { try limit(seconds) ?? Timeouts.unlimited }

func lifetime(_ seconds: Double) throws(NightjarError) -> Duration {
    guard let duration = Duration(seconds: seconds) else { throw .duration("the duration", seconds) }
    return duration
}

@_cdecl("nj_config_new") @implementation
public func nj_config_new() -> OpaquePointer! { Handle.make(ConfigBox()) }

@_cdecl("nj_config_free") @implementation
public func nj_config_free(_ config: OpaquePointer?) {
    _ = Handle<ConfigBox>.take(config)
}

@_cdecl("nj_config_set_base_url") @implementation
public func nj_config_set_base_url(_ config: OpaquePointer?, _ url: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.baseURL = try required(text(url), "url")
    }
}

@_cdecl("nj_config_set_path_scope") @implementation
public func nj_config_set_path_scope(_ config: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.pathScope = try path.map { path throws(NightjarError) in
            try PathScope(required(text(path), "path")).text
        }
    }
}

@_cdecl("nj_config_set_header") @implementation
public func nj_config_set_header(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        try configuration.headers.set(required(text(name), "name"), required(text(value), "value"))
    }
}

@_cdecl("nj_config_set_user_agent") @implementation
public func nj_config_set_user_agent(_ config: OpaquePointer?, _ userAgent: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.userAgent = try optional(userAgent, "user_agent")
    }
}

@_cdecl("nj_config_set_connect_timeout") @implementation
public func nj_config_set_connect_timeout(_ config: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in configuration.timeouts.connect = try timeout(seconds)
    }
}

@_cdecl("nj_config_set_idle_timeout") @implementation
public func nj_config_set_idle_timeout(_ config: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in configuration.timeouts.idle = try timeout(seconds) }
}

@_cdecl("nj_config_set_total_timeout") @implementation
public func nj_config_set_total_timeout(_ config: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in configuration.timeouts.total = try timeout(seconds) }
}

@_cdecl("nj_config_set_max_body") @implementation
public func nj_config_set_max_body(_ config: OpaquePointer?, _ bytes: Int) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in configuration.maximumBody = try bodyLimit(bytes) }
}

/// Checks and returns the limit of a collected body.
func bodyLimit(_ bytes: Int) throws(NightjarError) -> Int {
    // A size_t beyond Int is negative here.
    guard 0...Configuration.largestBodyLimit ~= bytes else {
        throw NightjarError(
            .invalidArgument,
            "max_body must be between 0 and \(Configuration.largestBodyLimit) bytes, got \(UInt(bitPattern: bytes))")
    }
    return bytes
}

/// Converts a size_t to Int. A value above Int.max, which arrives as a negative number, becomes Int.max.
func clampedSize(_ bytes: Int) -> Int { bytes < 0 ? .max : bytes }

@_cdecl("nj_config_set_max_connections_per_host") @implementation
public func nj_config_set_max_connections_per_host(_ config: OpaquePointer?, _ count: Int) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard 1...65536 ~= count else {
            throw NightjarError(.invalidArgument, "count must be between 1 and 65536, got \(count)")
        }
        configuration.transport.connectionsPerHost = count
    }
}

@_cdecl("nj_config_set_http_versions") @implementation
public func nj_config_set_http_versions(
    _ config: OpaquePointer?, _ versions: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        try configuration.transport.setVersions(try texts(versions, "a version"), "versions")
    }
}

@_cdecl("nj_config_set_idle_connection_lifetime") @implementation
public func nj_config_set_idle_connection_lifetime(_ config: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.idleConnectionLifetime = try lifetime(seconds)
    }
}

@_cdecl("nj_config_set_ca_file") @implementation
public func nj_config_set_ca_file(_ config: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.tls.certificateAuthorityFile = try required(text(path), "path")
    }
}

@_cdecl("nj_config_set_verify_certificates") @implementation
public func nj_config_set_verify_certificates(_ config: OpaquePointer?, _ verify: Bool) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.tls.verifiesCertificates = verify
    }
}

@_cdecl("nj_config_set_proxy") @implementation
public func nj_config_set_proxy(_ config: OpaquePointer?, _ url: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.proxy.source =
            url == nil ? .off : .address(try ProxyAddress(required(text(url), "url")))
    }
}

@_cdecl("nj_config_set_no_proxy") @implementation
public func nj_config_set_no_proxy(_ config: OpaquePointer?, _ hosts: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.proxy.exceptions = try optional(hosts, "hosts")
    }
}

@_cdecl("nj_config_use_environment_proxy") @implementation
public func nj_config_use_environment_proxy(_ config: OpaquePointer?, _ use: Bool) -> nj_status {
    changeConfig(config) { $0.transport.proxy.source = use ? .environment : .off }
}

@_cdecl("nj_config_set_unix_socket") @implementation
public func nj_config_set_unix_socket(_ config: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.unixSocket = path == nil ? nil : try UnixSocket(required(text(path), "path"))
    }
}

@_cdecl("nj_config_set_log") @implementation
public func nj_config_set_log(
    _ config: OpaquePointer?, _ level: nj_log_level, _ queue: OpaquePointer?, _ log: nj_log_fn?,
    _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        let queue = try requiredQueue(queue)
        let log = try required(log, "log")
        guard let level = LogSink.Level(rawValue: Int32(bitPattern: level.rawValue)) else {
            throw NightjarError(.invalidArgument, "level is not a value of nj_log_level")
        }
        let context = CallbackContext(pointer: context)
        configuration.log = LogSink(level: level, queue: queue) { line in
            line.message.withCString { log(context.pointer, nj_log_level(UInt32(line.level.rawValue)), $0) }
        }
    }
}

@_cdecl("nj_config_on_request") @implementation
public func nj_config_on_request(
    _ config: OpaquePointer?, _ before: nj_request_hook_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<ConfigBox>.borrow(config), "config").hooks.setBefore(
            before, CallbackContext(pointer: context))
    }
}

@_cdecl("nj_config_on_response") @implementation
public func nj_config_on_response(
    _ config: OpaquePointer?, _ after: nj_response_hook_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<ConfigBox>.borrow(config), "config").hooks.setAfter(
            after, CallbackContext(pointer: context))
    }
}

@_cdecl("nj_config_on_store") @implementation
public func nj_config_on_store(
    _ config: OpaquePointer?, _ store: nj_store_hook_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<ConfigBox>.borrow(config), "config").hooks.setStore(
            store, CallbackContext(pointer: context))
    }
}

@_cdecl("nj_config_set_max_redirects") @implementation
public func nj_config_set_max_redirects(_ config: OpaquePointer?, _ count: Int) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in try configuration.redirect.follow(atMost: count) }
}

@_cdecl("nj_config_set_allow_downgrade") @implementation
public func nj_config_set_allow_downgrade(_ config: OpaquePointer?, _ allow: Bool) -> nj_status {
    changeConfig(config) { $0.redirect.allowsDowngrade = allow }
}

@_cdecl("nj_config_set_lenient_line_endings") @implementation
public func nj_config_set_lenient_line_endings(_ config: OpaquePointer?, _ lenient: Bool) -> nj_status {
    changeConfig(config) { $0.transport.lenientLineEndings = lenient }
}

@_cdecl("nj_config_set_decompress") @implementation
public func nj_config_set_decompress(_ config: OpaquePointer?, _ decompress: Bool) -> nj_status {
    changeConfig(config) { $0.decompresses = decompress }
}

@_cdecl("nj_config_set_cookies") @implementation
public func nj_config_set_cookies(_ config: OpaquePointer?, _ cookies: OpaquePointer?) -> nj_status {
    changeConfig(config) {
        $0.cookies = Handle<CookieStorage>.borrow(cookies)
        $0.cookieFile = nil
    }
}

@_cdecl("nj_config_set_shared_loop") @implementation
public func nj_config_set_shared_loop(_ config: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { (configuration) throws(NightjarError) in
        let name = try optional(name, "name")
        guard name?.isEmpty != true else {
            throw NightjarError(.invalidArgument, "the name of the shared loop is empty; pass NULL for a separate loop")
        }
        configuration.sharedLoop = name
    }
}

@_cdecl("nj_config_set_ephemeral") @implementation
public func nj_config_set_ephemeral(_ config: OpaquePointer?, _ ephemeral: Bool) -> nj_status {
    changeConfig(config) { $0.isEphemeral = ephemeral }
}

@_cdecl("nj_config_set_journal") @implementation
public func nj_config_set_journal(_ config: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.journalPath = try optional(path, "path")
    }
}

extension RedirectSettings {
    mutating func follow(atMost count: Int) throws(NightjarError) {
        guard 0...100 ~= count else {
            throw NightjarError(
                .invalidArgument, "the number of redirects must be between 0 and 100, got \(UInt(bitPattern: count))")
        }
        maximum = count
        follows = count > 0
    }
}

@_cdecl("nj_config_merge_json") @implementation
public func nj_config_merge_json(
    _ config: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let config = try required(Handle<ConfigBox>.borrow(config), "config")
        try config.configuration.merge(json: try document(json, length))
        config.texts = LentTexts()
    }
}

/// Returns the bytes of a JSON text that C passes.
func document(_ json: UnsafePointer<CChar>?, _ length: Int) throws(NightjarError) -> UnsafeRawBufferPointer {
    guard length >= 0 else {
        throw NightjarError(.invalidArgument, "length must be at most SSIZE_MAX; was a negative number passed?")
    }
    return UnsafeRawBufferPointer(start: try required(json, "json"), count: length)
}
