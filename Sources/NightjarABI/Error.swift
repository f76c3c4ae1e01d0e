import CNightjar
import Nightjar
import NightjarHandles
import Synchronization

/// An error with its texts as C strings.
final class ErrorBox: Sendable {
    let error: NightjarError
    let message: CString
    let userMessage: CString?
    let url: CString?
    let response: ResponseBox?
    let details: DetailsBox?
    let earlier: [ErrorBox]
    let curlLines = CurlLines()
    let explanation = ExplanationStrings()
    private let tlsText = Mutex<CString?>(nil)

    init(_ error: NightjarError) {
        self.error = error
        message = CString(error.message)
        userMessage = error.userMessage.map(CString.init)
        url = error.url.map(CString.init)
        response = error.response.map { ResponseBox($0) }
        details = error.details.map(DetailsBox.init)
        earlier = error.earlier.map(ErrorBox.init)
    }

    var tls: CString? {
        guard let tls = error.tls else { return nil }
        return tlsText.withLock { stored in
            let text = stored ?? CString(tls.jsonText)
            stored = text
            return text
        }
    }
}

@_cdecl("nj_error_tls_json") @implementation
public func nj_error_tls_json(
    _ error: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    lend(Handle<ErrorBox>.borrow(error)?.tls, outLength)
}

@_cdecl("nj_error_kind") @implementation
public func nj_error_kind(_ error: OpaquePointer?) -> nj_status {
    Handle<ErrorBox>.borrow(error).map { nj_status($0.error.kind) } ?? NJ_INVALID_ARGUMENT
}

@_cdecl("nj_error_phase") @implementation
public func nj_error_phase(_ error: OpaquePointer?) -> nj_phase {
    Handle<ErrorBox>.borrow(error)?.error.phase.map { nj_phase(UInt32($0.rawValue)) } ?? NJ_PHASE_NONE
}

@_cdecl("nj_error_message") @implementation
public func nj_error_message(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ErrorBox>.borrow(error)?.message.pointer
}

@_cdecl("nj_error_user_message") @implementation
public func nj_error_user_message(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ErrorBox>.borrow(error)?.userMessage?.pointer
}

@_cdecl("nj_error_url") @implementation
public func nj_error_url(_ error: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ErrorBox>.borrow(error)?.url?.pointer
}

@_cdecl("nj_error_http_status") @implementation
public func nj_error_http_status(_ error: OpaquePointer?) -> Int32 {
    Int32(clamping: Handle<ErrorBox>.borrow(error)?.error.status ?? 0)
}

@_cdecl("nj_error_response") @implementation
public func nj_error_response(_ error: OpaquePointer?) -> OpaquePointer? {
    Handle<ErrorBox>.borrow(error)?.response.map { Handle.lend($0) }
}

@_cdecl("nj_error_is_retryable") @implementation
public func nj_error_is_retryable(_ error: OpaquePointer?) -> Bool {
    Handle<ErrorBox>.borrow(error)?.error.isRetryable ?? false
}

@_cdecl("nj_error_may_have_been_processed") @implementation
public func nj_error_may_have_been_processed(_ error: OpaquePointer?) -> Bool {
    Handle<ErrorBox>.borrow(error)?.error.requestMayHaveBeenProcessed ?? false
}

@_cdecl("nj_error_retry_after") @implementation
public func nj_error_retry_after(_ error: OpaquePointer?) -> Double {
    Handle<ErrorBox>.borrow(error)?.error.retryAfter?.inSeconds ?? -1
}

@_cdecl("nj_error_attempts") @implementation
public func nj_error_attempts(_ error: OpaquePointer?) -> Int {
    Handle<ErrorBox>.borrow(error)?.error.attempts ?? 0
}

@_cdecl("nj_error_code") @implementation
public func nj_error_code(_ error: OpaquePointer?) -> Int32 {
    Handle<ErrorBox>.borrow(error)?.error.code ?? 0
}

@_cdecl("nj_error_curl") @implementation
public func nj_error_curl(_ error: OpaquePointer?, _ showSecrets: Bool) -> UnsafePointer<CChar>? {
    guard let box = Handle<ErrorBox>.borrow(error) else { return nil }
    return box.curlLines.pointer(showSecrets) { box.error.curl(showsSecrets: $0) }
}

@_cdecl("nj_error_retain") @implementation
public func nj_error_retain(_ error: OpaquePointer?) -> OpaquePointer? {
    Handle<ErrorBox>.borrow(error).map { Handle.make($0) }
}

@_cdecl("nj_error_release") @implementation
public func nj_error_release(_ error: OpaquePointer?) {
    _ = Handle<ErrorBox>.take(error)
}
