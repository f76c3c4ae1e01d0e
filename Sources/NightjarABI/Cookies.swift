import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A snapshot of the cookies, and the texts that C borrows.
private final class CookieListBox: Sendable {
    struct Entry: Sendable {
        let name, value, domain, path, sameSite: CString
        let expires: Double
        let isSecure, isHTTPOnly: Bool
    }

    let entries: [Entry]

    init(_ cookies: [Cookie]) {
        entries = cookies.map {
            Entry(
                name: CString($0.name), value: CString($0.value), domain: CString($0.domain), path: CString($0.path),
                sameSite: CString($0.sameSite.rawValue), expires: $0.expires ?? 0, isSecure: $0.isSecure,
                isHTTPOnly: $0.isHTTPOnly)
        }
    }
}

@_cdecl("nj_cookies_new") @implementation
public func nj_cookies_new(_ policy: nj_cookie_policy) -> OpaquePointer? {
    making { () throws(NightjarError) in Handle.make(CookieStorage(try CookiePolicy(policy))) }
}

extension CookiePolicy {
    fileprivate init(_ policy: nj_cookie_policy) throws(NightjarError) {
        switch policy {
        case NJ_COOKIES_ALL: self = .all
        case NJ_COOKIES_FIRST_PARTY: self = .firstParty
        default: throw NightjarError(.invalidArgument, "policy is not a value of nj_cookie_policy")
        }
    }
}

@_cdecl("nj_cookies_open") @implementation
public func nj_cookies_open(
    _ path: UnsafePointer<CChar>?, _ policy: nj_cookie_policy, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        Handle.make(try CookieStorage(file: try required(text(path), "path"), policy: CookiePolicy(policy)))
    }
}

@_cdecl("nj_cookies_flush") @implementation
public func nj_cookies_flush(
    _ cookies: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        try required(Handle<CookieStorage>.borrow(cookies), "cookies").flush()
    }
}

@_cdecl("nj_client_cookies") @implementation
public func nj_client_cookies(_ client: OpaquePointer?) -> OpaquePointer? {
    guard let client = Handle<Client>.borrow(client), !client.isOfParent else { return nil }
    return client.cookies.map(Handle.make)
}

@_cdecl("nj_cookies_clear") @implementation
public func nj_cookies_clear(_ cookies: OpaquePointer?) {
    Handle<CookieStorage>.borrow(cookies)?.clear()
}

@_cdecl("nj_cookies_free") @implementation
public func nj_cookies_free(_ cookies: OpaquePointer?) {
    _ = Handle<CookieStorage>.take(cookies)
}

@_cdecl("nj_cookies_set") @implementation
public func nj_cookies_set(
    _ cookies: OpaquePointer?, _ url: UnsafePointer<CChar>?, _ setCookie: UnsafePointer<CChar>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let cookies = try required(Handle<CookieStorage>.borrow(cookies), "cookies")
        try cookies.set(
            try required(text(setCookie), "set_cookie"), for: try RequestURL(try required(text(url), "url")))
    }
}

@_cdecl("nj_cookies_delete") @implementation
public func nj_cookies_delete(
    _ cookies: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ domain: UnsafePointer<CChar>?,
    _ path: UnsafePointer<CChar>?
) -> Int {
    // Invalid UTF-8 matches no cookie. NULL would match every cookie.
    for pointer in [name, domain, path] where pointer != nil && text(pointer) == nil { return 0 }
    return Handle<CookieStorage>.borrow(cookies)?.delete(name: text(name), domain: text(domain), path: text(path)) ?? 0
}

@_cdecl("nj_cookies_import") @implementation
public func nj_cookies_import(
    _ cookies: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ outSkipped: UnsafeMutablePointer<Int>?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let cookies = try required(Handle<CookieStorage>.borrow(cookies), "cookies")
        outSkipped?.pointee = try cookies.importFile(try required(text(path), "path")).skipped
    }
}

@_cdecl("nj_cookies_export") @implementation
public func nj_cookies_export(
    _ cookies: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let cookies = try required(Handle<CookieStorage>.borrow(cookies), "cookies")
        try cookies.exportFile(try required(text(path), "path"))
    }
}

@_cdecl("nj_cookies_list") @implementation
public func nj_cookies_list(_ cookies: OpaquePointer?) -> OpaquePointer? {
    guard let cookies = Handle<CookieStorage>.borrow(cookies), !cookies.isOfParent else { return nil }
    return Handle.make(CookieListBox(cookies.all))
}

@_cdecl("nj_cookie_list_free") @implementation
public func nj_cookie_list_free(_ list: OpaquePointer?) {
    _ = Handle<CookieListBox>.take(list)
}

@_cdecl("nj_cookie_list_count") @implementation
public func nj_cookie_list_count(_ list: OpaquePointer?) -> Int {
    Handle<CookieListBox>.borrow(list)?.entries.count ?? 0
}

private func entry(_ list: OpaquePointer?, _ index: Int) -> CookieListBox.Entry? {
    guard let entries = Handle<CookieListBox>.borrow(list)?.entries, entries.indices.contains(index) else { return nil }
    return entries[index]
}

@_cdecl("nj_cookie_list_name_at") @implementation
public func nj_cookie_list_name_at(_ list: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    entry(list, index)?.name.pointer
}

@_cdecl("nj_cookie_list_value_at") @implementation
public func nj_cookie_list_value_at(_ list: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    entry(list, index)?.value.pointer
}

@_cdecl("nj_cookie_list_domain_at") @implementation
public func nj_cookie_list_domain_at(_ list: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    entry(list, index)?.domain.pointer
}

@_cdecl("nj_cookie_list_path_at") @implementation
public func nj_cookie_list_path_at(_ list: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    entry(list, index)?.path.pointer
}

@_cdecl("nj_cookie_list_expires_at") @implementation
public func nj_cookie_list_expires_at(_ list: OpaquePointer?, _ index: Int) -> Double {
    entry(list, index)?.expires ?? 0
}

@_cdecl("nj_cookie_list_secure_at") @implementation
public func nj_cookie_list_secure_at(_ list: OpaquePointer?, _ index: Int) -> Bool {
    entry(list, index)?.isSecure ?? false
}

@_cdecl("nj_cookie_list_http_only_at") @implementation
public func nj_cookie_list_http_only_at(_ list: OpaquePointer?, _ index: Int) -> Bool {
    entry(list, index)?.isHTTPOnly ?? false
}

@_cdecl("nj_cookie_list_same_site_at") @implementation
public func nj_cookie_list_same_site_at(_ list: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    entry(list, index)?.sameSite.pointer
}
