import CNightjar
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles

func changeRequest(_ request: OpaquePointer?, _ body: (RequestBox) throws(NightjarError) -> Void) -> nj_status {
    setting { () throws(NightjarError) in
        let box = try required(Handle<RequestBox>.borrow(request), "request")
        try body(box)
        box.texts = LentTexts()
    }
}

func bytes(_ pointer: UnsafeRawPointer?, _ length: Int) throws(NightjarError) -> ByteBuffer {
    guard pointer != nil || length == 0 else {
        throw NightjarError(.invalidArgument, "the body is NULL but its length is not 0")
    }
    guard 0...Configuration.largestBody ~= length else {  // a size_t above Int.max is negative here
        throw NightjarError(
            .invalidArgument,
            "the body must be at most \(Configuration.largestBody) bytes, got \(UInt(bitPattern: length))")
    }
    return try ByteBuffer(copying: UnsafeRawBufferPointer(start: pointer, count: length), for: "the body")
}

@_cdecl("nj_request_new") @implementation
public func nj_request_new(_ method: UnsafePointer<CChar>?, _ target: UnsafePointer<CChar>?) -> OpaquePointer? {
    making { () throws(NightjarError) in
        let name = try required(text(method), "method")
        guard let method = Method(name) else {
            throw NightjarError(.invalidArgument, "\(quoted(name)) is not a method: it must be a token, such as GET")
        }
        return Handle.make(RequestBox(Request(method, try required(text(target), "target"))))
    }
}

@_cdecl("nj_request_free") @implementation
public func nj_request_free(_ request: OpaquePointer?) {
    _ = Handle<RequestBox>.take(request)
}

@_cdecl("nj_request_copy") @implementation
public func nj_request_copy(_ request: OpaquePointer?) -> OpaquePointer? {
    Handle<RequestBox>.borrow(request).map { Handle.make(RequestBox(copy: $0)) }
}

@_cdecl("nj_request_add_query") @implementation
public func nj_request_add_query(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        box.request.query.append((try required(text(name), "name"), try required(text(value), "value")))
    }
}

@_cdecl("nj_request_set_parameter") @implementation
public func nj_request_set_parameter(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        let name = try required(text(name), "name")
        let value = try required(text(value), "value")
        box.request.parameters.removeAll { $0.name.isExactly(name) }
        box.request.parameters.append((name, value))
    }
}

@_cdecl("nj_request_set_header") @implementation
public func nj_request_set_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        try box.request.headers.set(required(text(name), "name"), required(text(value), "value"))
    }
}

@_cdecl("nj_request_add_header") @implementation
public func nj_request_add_header(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        try box.request.headers.add(required(text(name), "name"), required(text(value), "value"))
    }
}

@_cdecl("nj_request_set_body") @implementation
public func nj_request_set_body(_ request: OpaquePointer?, _ bytes: UnsafeRawPointer?, _ length: Int) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.setBody(.bytes(try NightjarABI.bytes(bytes, length))) }
}

@_cdecl("nj_request_set_body_json") @implementation
public func nj_request_set_body_json(
    _ request: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        box.setBody(.bytes(try bytes(json, length)))
        box.request.impliedType = .json
    }
}

@_cdecl("nj_request_set_body_file") @implementation
public func nj_request_set_body_file(_ request: OpaquePointer?, _ path: UnsafePointer<CChar>?) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.setBody(.file(path: try required(text(path), "path"))) }
}

@_cdecl("nj_request_set_body_file_range") @implementation
public func nj_request_set_body_file_range(
    _ request: OpaquePointer?, _ path: UnsafePointer<CChar>?, _ offset: Int64, _ length: Int64
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        let path = try required(text(path), "path")
        guard offset >= 0, length >= -1, let offset = Int(exactly: offset), let length = Int(exactly: length) else {
            throw NightjarError(
                .invalidArgument,
                "offset must not be negative and length must be -1 (to the end) or greater, got \(offset) and "
                    + "\(length)")
        }
        box.setBody(.file(path: path, offset: offset, length: length < 0 ? nil : length))
    }
}

@_cdecl("nj_request_set_body_form") @implementation
public func nj_request_set_body_form(
    _ request: OpaquePointer?, _ form: OpaquePointer?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<RequestBox>.borrow(request), "request")
        box.setBody(
            try Handle<FormBox>.borrow(form).map { form throws(NightjarError) in
                .multipart(try MultipartForm(form.parts))
            } ?? .none)
    }
}

@_cdecl("nj_request_add_form_field") @implementation
public func nj_request_add_form_field(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        try box.addFormField(try required(text(name), "name"), try required(text(value), "value"))
    }
}

@_cdecl("nj_request_set_compress") @implementation
public func nj_request_set_compress(_ request: OpaquePointer?, _ compress: Bool) -> nj_status {
    changeRequest(request) { $0.request.compresses = compress }
}

@_cdecl("nj_request_set_expect_continue") @implementation
public func nj_request_set_expect_continue(_ request: OpaquePointer?, _ expect: Bool) -> nj_status {
    changeRequest(request) { $0.request.expectsContinue = expect }
}

@_cdecl("nj_request_set_allow_body_on_get") @implementation
public func nj_request_set_allow_body_on_get(_ request: OpaquePointer?, _ allow: Bool) -> nj_status {
    changeRequest(request) { $0.request.allowsBodyOnGet = allow }
}

@_cdecl("nj_request_set_body_stream") @implementation
public func nj_request_set_body_stream(
    _ request: OpaquePointer?, _ length: Int64, _ read: nj_read_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        let read = try required(read, "read")
        guard length >= -1, let count = Int(exactly: length) else {
            throw NightjarError(.invalidArgument, "length must be -1 (unknown) or greater, got \(length)")
        }
        box.stream(count < 0 ? nil : count, read, CallbackContext(pointer: context))
    }
}

@_cdecl("nj_request_on_head") @implementation
public func nj_request_on_head(
    _ request: OpaquePointer?, _ head: nj_head_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.onHead(head, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_on_body") @implementation
public func nj_request_on_body(
    _ request: OpaquePointer?, _ body: nj_body_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.onBody(body, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_on_progress") @implementation
public func nj_request_on_progress(
    _ request: OpaquePointer?, _ progress: nj_progress_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.onProgress(progress, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_on_redirect") @implementation
public func nj_request_on_redirect(
    _ request: OpaquePointer?, _ redirect: nj_redirect_fn?, _ context: UnsafeMutableRawPointer?
) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.onRedirect(redirect, CallbackContext(pointer: context)) }
}

@_cdecl("nj_request_expect_status") @implementation
public func nj_request_expect_status(_ request: OpaquePointer?, _ lowest: Int32, _ highest: Int32) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        guard 100 <= lowest, lowest <= highest, highest <= 999 else {
            throw NightjarError(.invalidArgument, "\(lowest) to \(highest) is not a range within 100 to 999")
        }
        box.request.expectedStatuses.append(StatusRange(Int(lowest), Int(highest)))
    }
}

@_cdecl("nj_request_set_connect_timeout") @implementation
public func nj_request_set_connect_timeout(_ request: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.request.timeouts.connect = try timeout(seconds) }
}

@_cdecl("nj_request_set_idle_timeout") @implementation
public func nj_request_set_idle_timeout(_ request: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.request.timeouts.idle = try timeout(seconds) }
}

@_cdecl("nj_request_set_total_timeout") @implementation
public func nj_request_set_total_timeout(_ request: OpaquePointer?, _ seconds: Double) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.request.timeouts.total = try timeout(seconds) }
}

@_cdecl("nj_request_set_max_body") @implementation
public func nj_request_set_max_body(_ request: OpaquePointer?, _ bytes: Int) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in box.request.maximumBody = try bodyLimit(bytes) }
}

@_cdecl("nj_request_set_max_redirects") @implementation
public func nj_request_set_max_redirects(_ request: OpaquePointer?, _ count: Int) -> nj_status {
    changeRequest(request) { box throws(NightjarError) in
        var settings = box.request.redirect ?? RedirectSettings()
        try settings.follow(atMost: count)
        box.request.redirect = settings
    }
}

@_cdecl("nj_request_set_decompress") @implementation
public func nj_request_set_decompress(_ request: OpaquePointer?, _ decompress: Bool) -> nj_status {
    changeRequest(request) { $0.request.decompresses = decompress }
}

@_cdecl("nj_request_set_use_cookies") @implementation
public func nj_request_set_use_cookies(_ request: OpaquePointer?, _ use: Bool) -> nj_status {
    changeRequest(request) { $0.request.usesCookies = use }
}

@_cdecl("nj_request_merge_json") @implementation
public func nj_request_merge_json(
    _ request: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<RequestBox>.borrow(request), "request")
        try box.request.merge(json: try document(json, length))
    }
}
