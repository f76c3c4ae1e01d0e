import CNightjar
import Nightjar
import NightjarHandles

/// A request as C sees it in a hook. Belongs to the thread that runs the hook.
final class OutgoingBox {
    var request: HookedRequest
    /// Texts that C borrows until the hook returns.
    private var texts: [CString] = []

    init(_ request: HookedRequest) { self.request = request }

    func lend(_ text: String) -> UnsafePointer<CChar> {
        let text = CString(text)
        texts.append(text)
        return text.pointer
    }
}

/// A redirect as C sees it. Belongs to the thread that runs the callback.
final class HopBox {
    let status: Int32
    let from: CString
    let url: CString
    let method: CString
    var target: String?

    init(_ hop: RedirectHop) {
        status = Int32(clamping: hop.status)
        from = CString(hop.from.origin.description + hop.from.target)
        url = CString(hop.url.origin.description + hop.url.target)
        method = CString(hop.method.name)
    }
}

/// The two hooks of a configuration, which C sets individually.
struct ConfiguredHooks {
    var before: (@Sendable (inout HookedRequest) throws(NightjarError) -> Void)?
    var after: (@Sendable (Result<Response, NightjarError>) -> Void)?

    var hooks: CallHooks? {
        before == nil && after == nil ? nil : CallHooks(runOnLoop: false, before: before, after: after)
    }

    mutating func setBefore(_ callback: nj_before_fn?, _ context: CallbackContext) {
        guard let callback else { return before = nil }
        before = { request throws(NightjarError) in
            let box = OutgoingBox(request)
            let status = withExtendedLifetime(box) { callback(context.pointer, Handle.lend(box)) }
            guard status == NJ_OK else {
                let kind = ErrorKind(rawValue: Int32(bitPattern: status.rawValue)) ?? .cancelled
                throw NightjarError(kind, "the before hook rejected the request")
            }
            request = box.request
        }
    }

    mutating func setAfter(_ callback: nj_after_fn?, _ context: CallbackContext) {
        guard let callback else { return after = nil }
        after = { result in
            result.lend { callback(context.pointer, $0, $1) }
        }
    }
}

@_cdecl("nj_outgoing_method") @implementation
public func nj_outgoing_method(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<OutgoingBox>.borrow(request).map { $0.lend($0.request.method.name) }
}

@_cdecl("nj_outgoing_url") @implementation
public func nj_outgoing_url(_ request: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<OutgoingBox>.borrow(request).map { $0.lend($0.request.url.origin.description + $0.request.url.target) }
}

@_cdecl("nj_outgoing_header") @implementation
public func nj_outgoing_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    guard let box = Handle<OutgoingBox>.borrow(request), let name = text(name) else { return nil }
    return box.request.headers[name].map(box.lend)
}

@_cdecl("nj_outgoing_set_header") @implementation
public func nj_outgoing_set_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<OutgoingBox>.borrow(request), "request")
        let value = try optional(value, "value")
        try box.request.setHeader(try required(text(name), "name"), value)
    }
}

@_cdecl("nj_hop_status") @implementation
public func nj_hop_status(_ hop: OpaquePointer?) -> Int32 { Handle<HopBox>.borrow(hop)?.status ?? 0 }

@_cdecl("nj_hop_from") @implementation
public func nj_hop_from(_ hop: OpaquePointer?) -> UnsafePointer<CChar>? { Handle<HopBox>.borrow(hop)?.from.pointer }

@_cdecl("nj_hop_url") @implementation
public func nj_hop_url(_ hop: OpaquePointer?) -> UnsafePointer<CChar>? { Handle<HopBox>.borrow(hop)?.url.pointer }

@_cdecl("nj_hop_method") @implementation
public func nj_hop_method(_ hop: OpaquePointer?) -> UnsafePointer<CChar>? { Handle<HopBox>.borrow(hop)?.method.pointer }

@_cdecl("nj_hop_set_url") @implementation
public func nj_hop_set_url(_ hop: OpaquePointer?, _ url: UnsafePointer<CChar>?) -> nj_status {
    setting { () throws(NightjarError) in
        try required(Handle<HopBox>.borrow(hop), "hop").target = try required(text(url), "url")
    }
}
