import CNightjar
import NIOCore
import Nightjar
import NightjarHandles
import Synchronization

/// A response with its texts as C strings.
final class ResponseBox: Sendable {
    let response: Response
    /// Whether the call that returned the response also started a background revalidation.
    let isBeingRefreshed: Bool
    private let lazyTexts = AtomicLazyReference<ResponseStrings>()

    init(_ response: Response, isBeingRefreshed: Bool = false) {
        self.response = response
        self.isBeingRefreshed = isBeingRefreshed
    }

    /// - Parameter json: The value of the body, which has already been parsed.
    convenience init(_ response: Response, json: JSONValue) {
        self.init(response)
        _ = lazyTexts.storeIfNil(ResponseStrings(response, json: json))
    }

    /// The texts that C borrows, created on first use.
    var texts: ResponseStrings { lazyTexts.load() ?? lazyTexts.storeIfNil(ResponseStrings(response)) }
}

/// Texts and values of a response that C borrows, kept as long as the response.
final class ResponseStrings: Sendable {
    private let response: Response
    let json: ResponseJSON
    let explanation = ExplanationStrings()
    private let curlLines = CurlLines()
    private let texts = Mutex(Texts())

    private struct Texts {
        var url: CString?
        var reason: CString?
        var redirects: [CString]?
        var content: CString?
        var peer: CString?
        var tls: CString?
    }

    init(_ response: Response, json: JSONValue? = nil) {
        self.response = response
        self.json = ResponseJSON(json)
    }

    var url: UnsafePointer<CChar> {
        texts.withLock { texts in
            let text = texts.url ?? CString(response.url)
            texts.url = text
            return text.pointer
        }
    }

    /// The body decoded by its charset.
    var text: CString {
        texts.withLock { texts in
            let text = texts.content ?? CString(response.text)
            texts.content = text
            return text
        }
    }

    func redirectURL(at index: Int) -> UnsafePointer<CChar>? {
        guard response.redirects.indices.contains(index) else { return nil }
        return texts.withLock { texts in
            let urls = texts.redirects ?? response.redirects.map { CString($0.url.redacted) }
            texts.redirects = urls
            return urls[index].pointer
        }
    }

    func curl(showsSecrets: Bool) -> UnsafePointer<CChar>? {
        curlLines.pointer(showsSecrets) { response.curl(showsSecrets: $0) }
    }

    var peer: UnsafePointer<CChar>? {
        guard let peer = response.timing.connection?.peer else { return nil }
        return texts.withLock { texts in
            let text = texts.peer ?? CString(peer)
            texts.peer = text
            return text.pointer
        }
    }

    var tls: CString? {
        guard let tls = response.tls else { return nil }
        return texts.withLock { texts in
            let text = texts.tls ?? CString(tls.jsonText)
            texts.tls = text
            return text
        }
    }

    var reason: UnsafePointer<CChar> {
        texts.withLock { texts in
            let text = texts.reason ?? CString(response.head.reason)
            texts.reason = text
            return text.pointer
        }
    }
}

/// A curl command line with and without secrets, created on first use.
final class CurlLines: Sendable {
    private let lines = Mutex<(open: CString?, masked: CString?)>((nil, nil))

    func pointer(_ showsSecrets: Bool, _ make: (Bool) -> String?) -> UnsafePointer<CChar>? {
        lines.withLock { lines in
            let line = (showsSecrets ? lines.open : lines.masked) ?? make(showsSecrets).map(CString.init)
            if showsSecrets { lines.open = line } else { lines.masked = line }
            return line?.pointer
        }
    }
}

@_cdecl("nj_response_status") @implementation
public func nj_response_status(_ response: OpaquePointer?) -> Int32 {
    Int32(clamping: Handle<ResponseBox>.borrow(response)?.response.status ?? 0)
}

@_cdecl("nj_response_reason") @implementation
public func nj_response_reason(_ response: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.texts.reason
}

@_cdecl("nj_response_http_version") @implementation
public func nj_response_http_version(_ response: OpaquePointer?) -> Int32 {
    Handle<ResponseBox>.borrow(response).map { Int32(clamping: $0.response.head.version.rawValue) } ?? 0
}

@_cdecl("nj_response_header") @implementation
public func nj_response_header(
    _ response: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.response.headers.lendValue(name)
}

@_cdecl("nj_response_header_count") @implementation
public func nj_response_header_count(_ response: OpaquePointer?) -> Int {
    Handle<ResponseBox>.borrow(response)?.response.headers.count ?? 0
}

@_cdecl("nj_response_header_name_at") @implementation
public func nj_response_header_name_at(_ response: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.response.headers.lendName(at: index)
}

@_cdecl("nj_response_header_value_at") @implementation
public func nj_response_header_value_at(_ response: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.response.headers.lendValue(at: index)
}

@_cdecl("nj_response_trailer") @implementation
public func nj_response_trailer(
    _ response: OpaquePointer?, _ name: UnsafePointer<CChar>?
) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.response.trailers.lendValue(name)
}

@_cdecl("nj_response_trailer_count") @implementation
public func nj_response_trailer_count(_ response: OpaquePointer?) -> Int {
    Handle<ResponseBox>.borrow(response)?.response.trailers.count ?? 0
}

@_cdecl("nj_response_trailer_name_at") @implementation
public func nj_response_trailer_name_at(_ response: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.response.trailers.lendName(at: index)
}

@_cdecl("nj_response_trailer_value_at") @implementation
public func nj_response_trailer_value_at(_ response: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.response.trailers.lendValue(at: index)
}

@_cdecl("nj_response_body") @implementation
public func nj_response_body(
    _ response: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    guard let body = Handle<ResponseBox>.borrow(response)?.response.body else {
        outLength?.pointee = 0
        return nil
    }
    outLength?.pointee = body.readableBytes
    // The response owns the bytes and never changes them, so the pointer is valid as long as the response.
    return body.withUnsafeReadableBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
}

@_cdecl("nj_response_url") @implementation
public func nj_response_url(_ response: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.texts.url
}

@_cdecl("nj_response_source") @implementation
public func nj_response_source(_ response: OpaquePointer?) -> nj_source {
    nj_source(UInt32(Handle<ResponseBox>.borrow(response)?.response.source.rawValue ?? 0))
}

@_cdecl("nj_response_attempts") @implementation
public func nj_response_attempts(_ response: OpaquePointer?) -> Int {
    Handle<ResponseBox>.borrow(response)?.response.attempts ?? 0
}

@_cdecl("nj_response_time_total") @implementation
public func nj_response_time_total(_ response: OpaquePointer?) -> Double {
    Handle<ResponseBox>.borrow(response)?.response.timing.total.inSeconds ?? -1
}

@_cdecl("nj_response_time_sent") @implementation
public func nj_response_time_sent(_ response: OpaquePointer?) -> Double {
    Handle<ResponseBox>.borrow(response)?.response.timing.sent?.inSeconds ?? -1
}

@_cdecl("nj_response_time_first_byte") @implementation
public func nj_response_time_first_byte(_ response: OpaquePointer?) -> Double {
    Handle<ResponseBox>.borrow(response)?.response.timing.firstByte?.inSeconds ?? -1
}

@_cdecl("nj_response_time_dns") @implementation
public func nj_response_time_dns(_ response: OpaquePointer?) -> Double {
    Handle<ResponseBox>.borrow(response)?.response.timing.dns?.inSeconds ?? -1
}

@_cdecl("nj_response_time_connect") @implementation
public func nj_response_time_connect(_ response: OpaquePointer?) -> Double {
    Handle<ResponseBox>.borrow(response)?.response.timing.connect?.inSeconds ?? -1
}

@_cdecl("nj_response_time_tls") @implementation
public func nj_response_time_tls(_ response: OpaquePointer?) -> Double {
    Handle<ResponseBox>.borrow(response)?.response.timing.tls?.inSeconds ?? -1
}

@_cdecl("nj_response_peer_address") @implementation
public func nj_response_peer_address(_ response: OpaquePointer?) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.texts.peer
}

@_cdecl("nj_response_tls_json") @implementation
public func nj_response_tls_json(
    _ response: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    lend(Handle<ResponseBox>.borrow(response)?.texts.tls, outLength)
}

@_cdecl("nj_response_curl") @implementation
public func nj_response_curl(_ response: OpaquePointer?, _ showSecrets: Bool) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.texts.curl(showsSecrets: showSecrets)
}

@_cdecl("nj_response_reused_connection") @implementation
public func nj_response_reused_connection(_ response: OpaquePointer?) -> Bool {
    Handle<ResponseBox>.borrow(response)?.response.timing.reusedConnection ?? false
}

@_cdecl("nj_response_stream_id") @implementation
public func nj_response_stream_id(_ response: OpaquePointer?) -> Int32 {
    Handle<ResponseBox>.borrow(response)?.response.timing.stream ?? 0
}

@_cdecl("nj_response_retain") @implementation
public func nj_response_retain(_ response: OpaquePointer?) -> OpaquePointer? {
    Handle<ResponseBox>.borrow(response).map { Handle.make($0) }
}

@_cdecl("nj_response_release") @implementation
public func nj_response_release(_ response: OpaquePointer?) {
    _ = Handle<ResponseBox>.take(response)
}

@_cdecl("nj_response_redirect_count") @implementation
public func nj_response_redirect_count(_ response: OpaquePointer?) -> Int {
    Handle<ResponseBox>.borrow(response)?.response.redirects.count ?? 0
}

@_cdecl("nj_response_redirect_status_at") @implementation
public func nj_response_redirect_status_at(_ response: OpaquePointer?, _ index: Int) -> Int32 {
    guard let redirects = Handle<ResponseBox>.borrow(response)?.response.redirects,
        redirects.indices.contains(index)
    else { return 0 }
    return Int32(clamping: redirects[index].status)
}

@_cdecl("nj_response_redirect_url_at") @implementation
public func nj_response_redirect_url_at(_ response: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<ResponseBox>.borrow(response)?.texts.redirectURL(at: index)
}

extension Result<Response, NightjarError> {
    /// Calls `callback` with a borrowed handle of the response or of the error. The other argument is NULL.
    func lend(isBeingRefreshed: Bool = false, to callback: (OpaquePointer?, OpaquePointer?) -> Void) {
        switch self {
        case .success(let response):
            let box = ResponseBox(response, isBeingRefreshed: isBeingRefreshed)
            withExtendedLifetime(box) { callback(Handle.lend(box), nil) }
        case .failure(let error):
            let box = ErrorBox(error)
            withExtendedLifetime(box) { callback(nil, Handle.lend(box)) }
        }
    }
}
