import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A request as C sees it in a hook. Belongs to the thread that runs the hook.
final class PreparedRequestBox {
    var request: CallHooks.Request
    /// Texts that C borrows until the hook returns.
    private var texts: [CString] = []

    init(_ request: CallHooks.Request) { self.request = request }

    func lend(_ text: String) -> UnsafePointer<CChar> {
        let text = CString(text)
        texts.append(text)
        return text.pointer
    }
}

/// A redirect as C sees it. Belongs to the thread that runs the callback.
final class RedirectBox {
    let status: Int32
    let from: CString
    let url: CString
    let method: CString
    var target: String?

    init(_ redirect: ProposedRedirect) {
        status = Int32(clamping: redirect.status)
        from = CString(redirect.from.origin.description + redirect.from.target)
        url = CString(redirect.url.origin.description + redirect.url.target)
        method = CString(redirect.method.name)
    }
}

/// The before and after hooks of a configuration, which C sets one by one.
struct ConfiguredHooks {
    var before: (@Sendable (inout CallHooks.Request) throws(NightjarError) -> Void)?
    var after: (@Sendable (Result<Response, NightjarError>) -> Void)?

    var hooks: CallHooks? {
        before == nil && after == nil ? nil : CallHooks(runOnLoop: false, before: before, after: after)
    }

    mutating func setBefore(_ callback: nj_request_hook_fn?, _ context: CallbackContext) {
        guard let callback else { return before = nil }
        before = { request throws(NightjarError) in
            let box = PreparedRequestBox(request)
            let status = withExtendedLifetime(box) { callback(context.pointer, Handle.lend(box)) }
            guard status == NJ_OK else {
                let kind = ErrorKind(rawValue: Int32(bitPattern: status.rawValue)) ?? .cancelled
                throw NightjarError(kind, "the before hook rejected the request")
            }
            request = box.request
        }
    }

    mutating func setAfter(_ callback: nj_response_hook_fn?, _ context: CallbackContext) {
        guard let callback else { return after = nil }
        after = { result in
            result.lend { callback(context.pointer, $0, $1) }
        }
    }
}

@_cdecl("nj_prepared_request_method") @implementation
public func nj_prepared_request_method(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<PreparedRequestBox>.borrow(request).map { $0.lend($0.request.method.name) }
}

@_cdecl("nj_prepared_request_url") @implementation
public func nj_prepared_request_url(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<PreparedRequestBox>.borrow(request).map {
        $0.lend($0.request.url.origin.description + $0.request.url.target)
    }
}

@_cdecl("nj_prepared_request_header") @implementation
public func nj_prepared_request_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    guard let box = Handle<PreparedRequestBox>.borrow(request), let name = text(name) else { return nil }
    return box.request.headers[name].map(box.lend)
}

@_cdecl("nj_prepared_request_set_header") @implementation
public func nj_prepared_request_set_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<PreparedRequestBox>.borrow(request), "request")
        let value = try optional(value, "value")
        try box.request.setHeader(try required(text(name), "name"), value)
    }
}

@_cdecl("nj_prepared_request_set_cache_partition") @implementation
public func nj_prepared_request_set_cache_partition(
    _ request: OpaquePointer?, _ partition: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<PreparedRequestBox>.borrow(request), "request")
        box.request.cachePartition = try optional(partition, "partition")
    }
}

@_cdecl("nj_proposed_redirect_status") @implementation
public func nj_proposed_redirect_status(_ redirect: OpaquePointer?) -> Int32 {
    Handle<RedirectBox>.borrow(redirect)?.status ?? 0
}

@_cdecl("nj_proposed_redirect_source_url") @implementation
public func nj_proposed_redirect_source_url(_ redirect: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<RedirectBox>.borrow(redirect)?.from.pointer
}

@_cdecl("nj_proposed_redirect_url") @implementation
public func nj_proposed_redirect_url(_ redirect: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<RedirectBox>.borrow(redirect)?.url.pointer
}

@_cdecl("nj_proposed_redirect_method") @implementation
public func nj_proposed_redirect_method(_ redirect: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<RedirectBox>.borrow(redirect)?.method.pointer
}

@_cdecl("nj_proposed_redirect_set_url") @implementation
public func nj_proposed_redirect_set_url(_ redirect: OpaquePointer?, _ url: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<RedirectBox>.borrow(redirect), "redirect").target = try required(text(url), "url")
    }
}
