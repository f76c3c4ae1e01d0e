import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

// MARK: Ownership

@_cdecl("njl_future_retain") @implementation
public func njl_future_retain(_ future: OpaquePointer?) {
    Handle<Future>.retain(future)
}

@_cdecl("njl_future_release") @implementation
public func njl_future_release(_ future: OpaquePointer?) {
    Handle<Future>.release(future)
}

@_cdecl("njl_future_failed") @implementation
public func njl_future_failed(
    _ kind: njl_kind, _ phase: Int32, _ message: njl_bytes
) -> OpaquePointer? {
    let kind = ErrorKind(rawValue: Int32(bitPattern: kind.rawValue)) ?? .script
    let phase = ErrorPhase(rawValue: phase)
    let error = NightjarError(kind, String(decoding: message.buffer, as: UTF8.self), phase: phase)
    return Handle<Future>.make(Future(.failure(error)))
}

@_cdecl("njl_future_error_response") @implementation
public func njl_future_error_response(_ future: OpaquePointer?) -> OpaquePointer? {
    let future = Handle<Future>.borrow(future)
    guard let response = future?.error?.response else { return nil }
    return Handle<Future>.make(Future(.success(response), of: future))
}

@_cdecl("njl_future_earlier") @implementation
public func njl_future_earlier(_ future: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    let future = Handle<Future>.borrow(future)
    guard let earlier = future?.error?.earlier, earlier.indices.contains(index) else { return nil }
    return Handle<Future>.make(Future(.failure(earlier[index]), of: future))
}

// MARK: Reading

@_cdecl("njl_future_is_response") @implementation
public func njl_future_is_response(_ future: OpaquePointer?) -> Bool {
    Handle<Future>.borrow(future)?.response != nil
}

@_cdecl("njl_future_response") @implementation
public func njl_future_response(_ future: OpaquePointer?, _ view: UnsafeMutablePointer<njl_response>?) -> Bool {
    guard let future = Handle<Future>.borrow(future), let response = future.response else { return false }
    view?.pointee = njl_response(
        status: Int32(clamping: response.status),
        http_version: Int32(clamping: response.head.version.rawValue),
        // The pointer stays valid because the outcome keeps the response and its buffer.
        body: response.body.withUnsafeReadableBytes(njl_bytes.init),
        attempts: Int32(clamping: response.attempts),
        is_streamed: future.incoming != nil)
    return true
}

@_cdecl("njl_future_timing") @implementation
public func njl_future_timing(_ future: OpaquePointer?, _ view: UnsafeMutablePointer<njl_timing>?) -> Bool {
    guard let future = Handle<Future>.borrow(future), let timing = future.response?.timing else { return false }
    view?.pointee = njl_timing(
        sent: timing.sent?.inSeconds ?? -1, first_byte: timing.firstByte?.inSeconds ?? -1,
        total: future.incoming?.isEnded == false ? -1 : timing.total.inSeconds, dns: timing.dns?.inSeconds ?? -1,
        connect: timing.connect?.inSeconds ?? -1, tls: timing.tls?.inSeconds ?? -1, reused: timing.reusedConnection,
        stream: timing.stream ?? 0)
    return true
}

@_cdecl("njl_future_failure") @implementation
public func njl_future_failure(_ future: OpaquePointer?, _ view: UnsafeMutablePointer<njl_failure>?) -> Bool {
    guard let error = Handle<Future>.borrow(future)?.error else { return false }
    view?.pointee = njl_failure(
        status: Int32(clamping: error.status ?? 0), attempts: Int32(clamping: error.attempts),
        code: error.code, delivered: Int64(error.delivered ?? -1),
        retry_after: error.retryAfter?.inSeconds ?? -1, is_retryable: error.isRetryable,
        may_have_been_processed: error.requestMayHaveBeenProcessed, has_response: error.response != nil)
    return true
}

@_cdecl("njl_future_text") @implementation
public func njl_future_text(
    _ future: OpaquePointer?, _ field: njl_field, _ length: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    guard let text = Handle<Future>.borrow(future)?.text(field) else { return nil }
    length?.pointee = text.count
    return text.baseAddress
}

@_cdecl("njl_future_redirect") @implementation
public func njl_future_redirect(
    _ future: OpaquePointer?, _ index: Int, _ status: UnsafeMutablePointer<Int32>?,
    _ length: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    guard let redirect = Handle<Future>.borrow(future)?.redirect(at: index) else { return nil }
    status?.pointee = Int32(clamping: redirect.status)
    length?.pointee = redirect.url.count
    return redirect.url.baseAddress
}

@_cdecl("njl_future_header_count") @implementation
public func njl_future_header_count(
    _ future: OpaquePointer?, _ section: njl_section, _ isSandboxed: Bool
) -> Int {
    fields(of: future, section, isSandboxed)?.count ?? 0
}

@_cdecl("njl_future_header") @implementation
public func njl_future_header(
    _ future: OpaquePointer?, _ section: njl_section, _ isSandboxed: Bool, _ index: Int,
    _ field: UnsafeMutablePointer<njl_pair>?
) -> Bool {
    guard let headers = fields(of: future, section, isSandboxed), 0..<headers.count ~= index else { return false }
    field?.pointee = headers.withBytes(at: index) { njl_pair(name: njl_bytes($0), value: njl_bytes($1)) }
    return true
}

@_cdecl("njl_future_call_id") @implementation
public func njl_future_call_id(_ future: OpaquePointer?) -> Int64 {
    let future = Handle<Future>.borrow(future)
    return Int64(future?.task?.callID ?? future?.callID ?? 0)
}

private func fields(of future: OpaquePointer?, _ section: njl_section, _ isSandboxed: Bool) -> Headers? {
    let future = Handle<Future>.borrow(future)
    guard section == NJL_HEADER_SECTION else {
        return isSandboxed ? future?.publicTrailers : future?.response?.trailers
    }
    return isSandboxed ? future?.publicHeaders : future?.response?.headers
}

extension njl_bytes {
    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(data: bytes.baseAddress?.assumingMemoryBound(to: CChar.self), length: bytes.count)
    }

    var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : length) }
}
