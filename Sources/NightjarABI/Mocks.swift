import CNightjar
import Nightjar
import NightjarHandles
import NightjarTesting

@_cdecl("nj_config_set_mock") @implementation
public func nj_config_set_mock(
    _ config: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let config = try required(Handle<ConfigBox>.borrow(config), "config")
        config.configuration.mock = json == nil ? nil : try Mock(json: try document(json, length))
    }
}

@_cdecl("nj_config_set_cassette") @implementation
public func nj_config_set_cassette(
    _ config: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ mode: nj_cassette_mode
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard path != nil else { return configuration.cassette = nil }
        let kind: CassetteOptions.Mode
        switch mode {
        case NJ_CASSETTE_AUTO: kind = .auto
        case NJ_CASSETTE_RECORD: kind = .record
        case NJ_CASSETTE_REPLAY: kind = .replay
        default: throw NightjarError(.invalidArgument, "mode is not a value of nj_cassette_mode")
        }
        let file = try required(text(path), "path")
        guard !file.isEmpty else { throw NightjarError(.invalidArgument, "path is empty") }
        configuration.cassette = CassetteOptions(file, mode: kind)
    }
}

@_cdecl("nj_config_set_network_profile") @implementation
public func nj_config_set_network_profile(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ seed: UInt64
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        guard name != nil else { return configuration.network = nil }
        var profile = try NetworkProfile(try required(text(name), "name"))
        profile.seed = seed
        configuration.network = profile
    }
}

@_cdecl("nj_client_mock_uses") @implementation
public func nj_client_mock_uses(_ client: OpaquePointer?, _ route: UnsafePointer<CChar>?) -> Int {
    guard let client = Handle<Client>.borrow(client), !client.isOfParent, let mock = client.mock else { return 0 }
    guard route != nil else { return mock.totalUses }
    return text(route).flatMap(mock.uses(of:)) ?? 0
}

@_cdecl("nj_client_mock_verify") @implementation
public func nj_client_mock_verify(
    _ client: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        try client.checkProcess()
        guard let mock = client.mock else {
            throw NightjarError(.invalidArgument, "the client has no mock; set one with nj_config_set_mock")
        }
        try mock.verify()
    }
}

@_cdecl("nj_client_mock_reset") @implementation
public func nj_client_mock_reset(_ client: OpaquePointer?) {
    guard let client = Handle<Client>.borrow(client), !client.isOfParent else { return }
    client.mock?.reset()
}
