import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// Returns a text of a configuration. C borrows it until the configuration is changed or freed.
private func lent(
    _ config: OpaquePointer?, _ text: (Configuration) -> String?
) -> UnsafePointer<CChar>? {
    guard let box = Handle<ConfigBox>.borrow(config), let text = text(box.configuration) else { return nil }
    return box.texts.lend(text)
}

/// Returns a value of a configuration, or `none` for NULL.
private func value<Value>(
    _ config: OpaquePointer?, _ none: Value, _ value: (Configuration) -> Value
) -> Value {
    Handle<ConfigBox>.borrow(config).map { value($0.configuration) } ?? none
}

@_cdecl("nj_config_base_url") @implementation
public func nj_config_base_url(_ config: OpaquePointer?) -> UnsafePointer<CChar>? { lent(config) { $0.baseURL } }

@_cdecl("nj_config_path_scope") @implementation
public func nj_config_path_scope(_ config: OpaquePointer?) -> UnsafePointer<CChar>? { lent(config) { $0.pathScope } }

@_cdecl("nj_config_header") @implementation
public func nj_config_header(_ config: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? {
    Handle<ConfigBox>.borrow(config)?.configuration.headers.lendValue(name)
}

@_cdecl("nj_config_header_count") @implementation
public func nj_config_header_count(_ config: OpaquePointer?) -> Int { value(config, 0) { $0.headers.count } }

@_cdecl("nj_config_header_name_at") @implementation
public func nj_config_header_name_at(_ config: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<ConfigBox>.borrow(config)?.configuration.headers.lendName(at: index)
}

@_cdecl("nj_config_header_value_at") @implementation
public func nj_config_header_value_at(_ config: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<ConfigBox>.borrow(config)?.configuration.headers.lendValue(at: index)
}

@_cdecl("nj_config_user_agent") @implementation
public func nj_config_user_agent(_ config: OpaquePointer?) -> UnsafePointer<CChar>? { lent(config) { $0.userAgent } }

@_cdecl("nj_config_unix_socket") @implementation
public func nj_config_unix_socket(_ config: OpaquePointer?) -> UnsafePointer<CChar>? {
    lent(config) { $0.transport.unixSocket?.path }
}

@_cdecl("nj_config_local_address") @implementation
public func nj_config_local_address(_ config: OpaquePointer?) -> UnsafePointer<CChar>? {
    lent(config) { $0.transport.localAddress?.description }
}

@_cdecl("nj_config_interface") @implementation
public func nj_config_interface(_ config: OpaquePointer?) -> UnsafePointer<CChar>? {
    lent(config) { $0.transport.interface }
}

@_cdecl("nj_config_shared_loop") @implementation
public func nj_config_shared_loop(_ config: OpaquePointer?) -> UnsafePointer<CChar>? { lent(config) { $0.sharedLoop } }

@_cdecl("nj_config_journal") @implementation
public func nj_config_journal(_ config: OpaquePointer?) -> UnsafePointer<CChar>? { lent(config) { $0.journalPath } }

/// The timeouts with the defaults of a client.
private func timeouts(_ configuration: Configuration) -> Timeouts {
    configuration.timeouts.filled(from: Configuration().timeouts)
}

@_cdecl("nj_config_connect_timeout") @implementation
public func nj_config_connect_timeout(_ config: OpaquePointer?) -> Double {
    value(config, -1) { timeouts($0).connect?.inSeconds ?? 0 }
}

@_cdecl("nj_config_idle_timeout") @implementation
public func nj_config_idle_timeout(_ config: OpaquePointer?) -> Double {
    value(config, -1) { timeouts($0).idle?.inSeconds ?? 0 }
}

@_cdecl("nj_config_total_timeout") @implementation
public func nj_config_total_timeout(_ config: OpaquePointer?) -> Double {
    value(config, -1) { timeouts($0).total?.inSeconds ?? 0 }
}

@_cdecl("nj_config_idle_connection_lifetime") @implementation
public func nj_config_idle_connection_lifetime(_ config: OpaquePointer?) -> Double {
    value(config, -1) { $0.transport.idleConnectionLifetime.inSeconds }
}

@_cdecl("nj_config_max_body") @implementation
public func nj_config_max_body(_ config: OpaquePointer?) -> Int { value(config, 0) { $0.maximumBody } }

@_cdecl("nj_config_max_connections_per_host") @implementation
public func nj_config_max_connections_per_host(_ config: OpaquePointer?) -> Int {
    value(config, 0) { $0.transport.connectionsPerHost }
}

@_cdecl("nj_config_max_redirects") @implementation
public func nj_config_max_redirects(_ config: OpaquePointer?) -> Int {
    value(config, 0) { $0.redirect.follows ? $0.redirect.maximum : 0 }
}

@_cdecl("nj_config_retry_attempts") @implementation
public func nj_config_retry_attempts(_ config: OpaquePointer?) -> Int {
    value(config, 0) { $0.retry.maximumAttempts }
}

@_cdecl("nj_config_decompress") @implementation
public func nj_config_decompress(_ config: OpaquePointer?) -> Bool { value(config, false) { $0.decompresses } }

@_cdecl("nj_config_coalesce") @implementation
public func nj_config_coalesce(_ config: OpaquePointer?) -> Bool { value(config, false) { $0.coalesces } }

@_cdecl("nj_config_ephemeral") @implementation
public func nj_config_ephemeral(_ config: OpaquePointer?) -> Bool { value(config, false) { $0.isEphemeral } }

@_cdecl("nj_config_verify_certificates") @implementation
public func nj_config_verify_certificates(_ config: OpaquePointer?) -> Bool {
    value(config, false) { $0.transport.tls.verifiesCertificates }
}

@_cdecl("nj_config_ca_file") @implementation
public func nj_config_ca_file(_ config: OpaquePointer?) -> UnsafePointer<CChar>? {
    lent(config) { $0.transport.tls.certificateAuthorityFile }
}

@_cdecl("nj_config_https_only") @implementation
public func nj_config_https_only(_ config: OpaquePointer?) -> Bool { value(config, false) { $0.httpsOnly != nil } }

@_cdecl("nj_config_allow_downgrade") @implementation
public func nj_config_allow_downgrade(_ config: OpaquePointer?) -> Bool {
    value(config, false) { $0.redirect.allowsDowngrade }
}

@_cdecl("nj_config_ip_family") @implementation
public func nj_config_ip_family(_ config: OpaquePointer?) -> nj_ip_family {
    value(config, NJ_IP_ANY) {
        switch $0.transport.ipFamily {
        case .ipv4: NJ_IP_V4
        case .ipv6: NJ_IP_V6
        case nil: NJ_IP_ANY
        }
    }
}
