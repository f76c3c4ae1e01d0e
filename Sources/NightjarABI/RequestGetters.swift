import CNightjar
import Nightjar
import NightjarHTTP
import NightjarHandles

/// Returns a text of a request. C borrows it until the request is changed or freed.
private func lent(_ request: OpaquePointer?, _ text: (Request) -> String?) -> UnsafePointer<CChar>? {
    guard let box = Handle<RequestBox>.borrow(request), let text = text(box.request) else { return nil }
    return box.texts.lend(text)
}

/// Returns a timeout that differs from the client's, or -1.
private func timeout(_ request: OpaquePointer?, _ timeout: (Timeouts) -> Duration?) -> Double {
    Handle<RequestBox>.borrow(request).flatMap { timeout($0.request.timeouts) }.map(\.inSeconds) ?? -1
}

@_cdecl("nj_request_method") @implementation
public func nj_request_method(_ request: OpaquePointer?) -> UnsafePointer<CChar>? { lent(request) { $0.method.name } }

@_cdecl("nj_request_target") @implementation
public func nj_request_target(_ request: OpaquePointer?) -> UnsafePointer<CChar>? { lent(request) { $0.target } }

@_cdecl("nj_request_header") @implementation
public func nj_request_header(_ request: OpaquePointer?, _ name: UnsafePointer<CChar>?) -> UnsafePointer<CChar>? {
    Handle<RequestBox>.borrow(request)?.request.headers.lendValue(name)
}

@_cdecl("nj_request_header_count") @implementation
public func nj_request_header_count(_ request: OpaquePointer?) -> Int {
    Handle<RequestBox>.borrow(request)?.request.headers.count ?? 0
}

@_cdecl("nj_request_header_name_at") @implementation
public func nj_request_header_name_at(_ request: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<RequestBox>.borrow(request)?.request.headers.lendName(at: index)
}

@_cdecl("nj_request_header_value_at") @implementation
public func nj_request_header_value_at(_ request: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<RequestBox>.borrow(request)?.request.headers.lendValue(at: index)
}

@_cdecl("nj_request_body") @implementation
public func nj_request_body(
    _ request: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    guard case .bytes(let body)? = Handle<RequestBox>.borrow(request)?.request.body else {
        outLength?.pointee = 0
        return nil
    }
    outLength?.pointee = body.readableBytes
    // The request owns the bytes until it is changed.
    return body.withUnsafeReadableBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
}

@_cdecl("nj_request_connect_timeout") @implementation
public func nj_request_connect_timeout(_ request: OpaquePointer?) -> Double { timeout(request) { $0.connect } }

@_cdecl("nj_request_idle_timeout") @implementation
public func nj_request_idle_timeout(_ request: OpaquePointer?) -> Double { timeout(request) { $0.idle } }

@_cdecl("nj_request_total_timeout") @implementation
public func nj_request_total_timeout(_ request: OpaquePointer?) -> Double { timeout(request) { $0.total } }
