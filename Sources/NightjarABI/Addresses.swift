import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

@_cdecl("nj_config_set_resolve") @implementation
public func nj_config_set_resolve(
    _ config: OpaquePointer?, _ entries: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.resolve = try ResolveEntries(try texts(entries, "an entry"))
    }
}

@_cdecl("nj_config_set_ip_family") @implementation
public func nj_config_set_ip_family(_ config: OpaquePointer?, _ family: nj_ip_family) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        switch family {
        case NJ_IP_ANY: configuration.transport.ipFamily = nil
        case NJ_IP_V4: configuration.transport.ipFamily = .ipv4
        case NJ_IP_V6: configuration.transport.ipFamily = .ipv6
        default: throw NightjarError(.invalidArgument, "family is not a value of nj_ip_family")
        }
    }
}

@_cdecl("nj_config_set_local_address") @implementation
public func nj_config_set_local_address(_ config: OpaquePointer?, _ address: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.localAddress = try optional(address, "address").map { text throws(NightjarError) in
            try IPAddress(text)
        }
    }
}

@_cdecl("nj_config_set_interface") @implementation
public func nj_config_set_interface(_ config: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.transport.interface = try optional(name, "name")
    }
}

@_cdecl("nj_config_set_address_filter") @implementation
public func nj_config_set_address_filter(
    _ config: OpaquePointer?, _ deny: UnsafePointer<UnsafePointer<CChar>?>?,
    _ allow: UnsafePointer<UnsafePointer<CChar>?>?, _ allowProxies: Bool
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard deny != nil else { return configuration.transport.addressFilter = nil }
        configuration.transport.addressFilter = try AddressFilter(
            denying: try texts(deny, "a rule"), allowing: try texts(allow, "a rule"), allowsProxies: allowProxies)
    }
}

@_cdecl("nj_config_set_https_only") @implementation
public func nj_config_set_https_only(
    _ config: OpaquePointer?, _ httpsOnly: Bool, _ except: UnsafePointer<UnsafePointer<CChar>?>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        let exceptions = try HTTPSOnly(except: try texts(except, "a pattern"))
        configuration.httpsOnly = httpsOnly ? exceptions : nil
    }
}
