import CNightjar
import Nightjar
import NightjarHandles

@_cdecl("nj_config_set_bearer") @implementation
public func nj_config_set_bearer(_ config: OpaquePointer?, _ token: UnsafePointer<CChar>?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.auth = .bearer(try required(text(token), "token"))
    }
}

@_cdecl("nj_config_set_basic_auth") @implementation
public func nj_config_set_basic_auth(
    _ config: OpaquePointer?, _ user: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.auth = .basic(
            user: try required(text(user), "user"), password: try required(text(password), "password"))
    }
}

@_cdecl("nj_config_set_digest_auth") @implementation
public func nj_config_set_digest_auth(
    _ config: OpaquePointer?, _ user: UnsafePointer<CChar>?, _ password: UnsafePointer<CChar>?
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.auth = .digest(
            user: try required(text(user), "user"), password: try required(text(password), "password"))
    }
}

private func setKey(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?,
    in place: (String) -> APIKey.Place
) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        let place = place(try required(text(name), "name"))
        configuration.auth = .apiKey(try APIKey(try required(text(key), "key"), in: place))
    }
}

@_cdecl("nj_config_set_api_key_header") @implementation
public func nj_config_set_api_key_header(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?
) -> nj_status {
    setKey(config, name, key, in: APIKey.Place.header)
}

@_cdecl("nj_config_set_api_key_query") @implementation
public func nj_config_set_api_key_query(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?
) -> nj_status {
    setKey(config, name, key, in: APIKey.Place.query)
}

@_cdecl("nj_config_set_api_key_cookie") @implementation
public func nj_config_set_api_key_cookie(
    _ config: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ key: UnsafePointer<CChar>?
) -> nj_status {
    setKey(config, name, key, in: APIKey.Place.cookie)
}

@_cdecl("nj_config_set_auth_json") @implementation
public func nj_config_set_auth_json(
    _ config: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let config = try required(Handle<ConfigBox>.borrow(config), "config")
        try config.configuration.setAuth(json: try document(json, length))
    }
}

@_cdecl("nj_config_on_login_required") @implementation
public func nj_config_on_login_required(
    _ config: OpaquePointer?, _ callback: nj_login_required_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    let context = CallbackContext(pointer: context)
    return setting { () throws(NightjarError) in
        let config = try required(Handle<ConfigBox>.borrow(config), "config")
        config.loginRequired = callback.map { callback in LoginHook.onQueues { callback(context.pointer) } }
    }
}

@_cdecl("nj_request_set_use_auth") @implementation
public func nj_request_set_use_auth(_ request: OpaquePointer?, _ use: Bool) -> nj_status {
    changeRequest(request) { $0.request.usesAuth = use }
}

@_cdecl("nj_client_set_token") @implementation
public func nj_client_set_token(
    _ client: OpaquePointer?, _ scheme: UnsafePointer<CChar>?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let scheme = try optional(scheme, "scheme")
        try client.setToken(try Token(json: try document(json, length)), scheme: scheme)
    }
}

@_cdecl("nj_client_log_out") @implementation
public func nj_client_log_out(
    _ client: OpaquePointer?, _ scheme: UnsafePointer<CChar>?, _ clearCookies: Bool,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        try client.logOutBlocking(scheme: try optional(scheme, "scheme"), clearingCookies: clearCookies)
    }
}

@_cdecl("nj_client_start_log_out") @implementation
public func nj_client_start_log_out(
    _ client: OpaquePointer?, _ scheme: UnsafePointer<CChar>?, _ clearCookies: Bool, _ queue: OpaquePointer?,
    _ done: nj_login_done_fn?, _ context: UnsafeMutableRawPointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let queue = try requiredQueue(queue)
        let done = try required(done, "done")
        let context = CallbackContext(pointer: context)
        let scheme = try optional(scheme, "scheme")
        let task = try client.logOut(scheme: scheme, clearingCookies: clearCookies, on: queue) {
            report($0, to: done, context)
        }
        return Handle.make(task)
    }
}
