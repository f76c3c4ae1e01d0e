import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

/// A request as C sees it in a hook. Belongs to the thread that runs the hook.
final class PreparedRequestBox {
    let canChange: Bool
    private(set) var request: CallHooks.Request
    /// The headers that C borrows until the hook returns. The last element belongs to `request`, the others to the request
    /// before its changes.
    private var headerLists: [Headers] = []
    private var hasCurrentHeaders = false
    /// Texts that C borrows until the hook returns.
    private var texts: [CString] = []
    private var body: ByteBuffer?

    init(_ request: CallHooks.Request, canChange: Bool) {
        self.request = request
        self.canChange = canChange
    }

    var headers: Headers {
        if hasCurrentHeaders, let headers = headerLists.last { return headers }
        let headers = request.headers
        headerLists.append(headers)
        hasCurrentHeaders = true
        return headers
    }

    func setHeader(_ name: String, _ value: String?) throws(NightjarError) {
        try checkMayChange()
        try request.setHeader(name, value)
        hasCurrentHeaders = false
    }

    func setCachePartition(_ partition: String?) throws(NightjarError) {
        try checkMayChange()
        request.cachePartition = partition
    }

    private func checkMayChange() throws(NightjarError) {
        guard canChange else {
            throw NightjarError(
                .invalidArgument, "the request of an after hook cannot be changed; change it in a before hook")
        }
    }

    /// Returns the body, which is kept until the hook returns.
    func lendBody() -> ByteBuffer? {
        body = body ?? request.body
        return body
    }

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

/// The hooks of a configuration, which C sets one by one.
struct ConfiguredHooks {
    var before: (@Sendable (inout CallHooks.Request) throws(NightjarError) -> Void)?
    var after: (@Sendable (CallHooks.Request, Result<Response, NightjarError>) -> Void)?

    var store: (@Sendable (CallHooks.Request, Response) -> Bool)?

    var hooks: CallHooks? {
        before == nil && after == nil && store == nil
            ? nil : CallHooks(runOnLoop: false, before: before, after: after, store: store)
    }

    mutating func setStore(_ callback: nj_store_hook_fn?, _ context: CallbackContext) {
        guard let callback else { return store = nil }
        store = { request, response in
            let box = PreparedRequestBox(request, canChange: false)
            let responseBox = ResponseBox(response)
            return withExtendedLifetime((box, responseBox)) {
                callback(context.pointer, Handle.lend(box), Handle.lend(responseBox))
            }
        }
    }

    mutating func setBefore(_ callback: nj_request_hook_fn?, _ context: CallbackContext) {
        guard let callback else { return before = nil }
        before = { request throws(NightjarError) in
            let box = PreparedRequestBox(request, canChange: true)
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
        after = { request, result in
            let box = PreparedRequestBox(request, canChange: false)
            withExtendedLifetime(box) {
                result.lend { callback(context.pointer, Handle.lend(box), $0, $1) }
            }
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

@_cdecl("nj_prepared_request_call_id") @implementation
public func nj_prepared_request_call_id(_ request: OpaquePointer?) -> Int64 {
    Int64(Handle<PreparedRequestBox>.borrow(request)?.request.callID ?? 0)
}

@_cdecl("nj_prepared_request_header") @implementation
public func nj_prepared_request_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    Handle<PreparedRequestBox>.borrow(request)?.headers.lendValue(name)
}

@_cdecl("nj_prepared_request_header_count") @implementation
public func nj_prepared_request_header_count(_ request: OpaquePointer?) -> Int {
    Handle<PreparedRequestBox>.borrow(request)?.headers.count ?? 0
}

@_cdecl("nj_prepared_request_header_name_at") @implementation
public func nj_prepared_request_header_name_at(_ request: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<PreparedRequestBox>.borrow(request)?.headers.lendName(at: index)
}

@_cdecl("nj_prepared_request_header_value_at") @implementation
public func nj_prepared_request_header_value_at(_ request: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<PreparedRequestBox>.borrow(request)?.headers.lendValue(at: index)
}

@_cdecl("nj_prepared_request_body") @implementation
public func nj_prepared_request_body(
    _ request: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafeRawPointer? {
    outLength?.pointee = 0
    guard let box = Handle<PreparedRequestBox>.borrow(request), let body = box.lendBody() else { return nil }
    guard body.readableBytes > 0 else { return UnsafeRawPointer(box.lend("")) }
    outLength?.pointee = body.readableBytes
    // The box owns the bytes and never changes them.
    return body.withUnsafeReadableBytes { $0.baseAddress }
}

@_cdecl("nj_prepared_request_body_sha256") @implementation
public func nj_prepared_request_body_sha256(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<PreparedRequestBox>.borrow(request).flatMap { box in box.request.bodySHA256.map(box.lend) }
}

@_cdecl("nj_prepared_request_set_header") @implementation
public func nj_prepared_request_set_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<PreparedRequestBox>.borrow(request), "request")
        let value = try optional(value, "value")
        try box.setHeader(try required(text(name), "name"), value)
    }
}

@_cdecl("nj_prepared_request_set_cache_partition") @implementation
public func nj_prepared_request_set_cache_partition(
    _ request: OpaquePointer?, _ partition: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<PreparedRequestBox>.borrow(request), "request")
        try box.setCachePartition(try optional(partition, "partition"))
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
