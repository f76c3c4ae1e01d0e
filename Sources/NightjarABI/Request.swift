import CNightjar
import NIOCore
import Nightjar
import NightjarHandles

/// A request that C fills step by step, and the callbacks of its calls.
final class RequestBox {
    var request: Request
    /// The endpoint to call; nil: the request has its own method and target.
    var endpoint: EndpointCall?
    /// The body consists of form fields that are added individually.
    private var hasFormFields = false
    /// The callbacks of each call, except for its completion.
    private var handlers = TaskHandlers { _, _ in }
    /// The context of the callbacks of a streamed body.
    private var bodyContext = CallbackContext(pointer: nil)

    init(_ request: Request) {
        self.request = request
    }

    init(copy other: RequestBox) {
        request = other.request
        endpoint = other.endpoint
        hasFormFields = other.hasFormFields
        handlers = other.handlers
        bodyContext = other.bodyContext
    }

    var reportsRefresh: Bool { handlers.refreshed != nil }

    /// An endpoint and its arguments, which are validated when the request is sent.
    struct EndpointCall {
        var operation: Operation
        var arguments = Arguments()

        init(operation: Operation) { self.operation = operation }

        mutating func set(_ name: String, _ value: JSONValue) {
            arguments.values.removeAll { $0.name.isExactly(name) }
            if value != .null { arguments.values.append((name: name, value: value)) }
        }
    }

    /// Lends the request as it is sent. Requests are large, so this avoids a copy.
    ///
    /// - Throws: also `invalid_request` for invalid endpoint arguments.
    @inline(__always)
    func withRequest<Result>(
        for client: Client, _ body: (inout Request) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        guard let endpoint else { return try body(&request) }
        var made = request
        try client.apply(endpoint.operation, endpoint.arguments, to: &made)
        return try body(&made)
    }

    /// The same, copied.
    func request(for client: Client) throws(NightjarError) -> Request {
        try withRequest(for: client) { request throws(NightjarError) in request }
    }

    func handlers(
        finished: @escaping @Sendable (ClientTask, Result<Response, NightjarError>) -> Void
    ) -> TaskHandlers {
        var handlers = handlers
        handlers.finished = finished
        return handlers
    }

    func onHead(_ callback: nj_head_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.head = nil }
        handlers.head = { (task: ClientTask, head: ResponseHead) in
            let box = ResponseBox(task.response(head))
            withExtendedLifetime(box) { callback(context.pointer, Handle.lend(task), Handle.lend(box)) }
        }
    }

    func onRedirect(_ callback: nj_redirect_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.redirect = nil }
        handlers.redirect = { (task: ClientTask, proposed: ProposedRedirect) in
            let box = RedirectBox(proposed)
            let action = withExtendedLifetime(box) { callback(context.pointer, Handle.lend(task), Handle.lend(box)) }
            return switch action {
            case NJ_REDIRECT_FOLLOW: box.target.map(RedirectAction.followTo) ?? .follow
            case NJ_REDIRECT_STOP: .stop
            default: .refuse(nil)
            }
        }
    }

    func onRetry(_ callback: nj_retry_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.retry = nil }
        handlers.retry = { (task: ClientTask, failedAttempt: FailedAttempt) in
            let box = FailedAttemptBox(failedAttempt)
            let action = withExtendedLifetime(box) { callback(context.pointer, Handle.lend(task), Handle.lend(box)) }
            return box.action(action)
        }
    }

    func onRefresh(_ callback: nj_refreshed_fn?, _ queue: CompletionQueue?, _ context: CallbackContext) {
        guard let callback else { return (handlers.refreshed, handlers.refreshQueue) = (nil, nil) }
        handlers.refreshQueue = queue
        handlers.refreshed = { result in
            result.lend { callback(context.pointer, $0, $1) }
        }
    }

    func onBody(_ callback: nj_body_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.body = nil }
        handlers.body = { (task: ClientTask, bytes: ByteBuffer) in
            bytes.withUnsafeReadableBytes { callback(context.pointer, Handle.lend(task), $0.baseAddress, $0.count) }
        }
    }

    func onProgress(_ callback: nj_progress_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.progress = nil }
        handlers.progress = { (task: ClientTask, progress: TransferProgress) in
            var converted = nj_progress(
                sent: Int64(progress.sent), sent_total: Int64(progress.sentTotal ?? -1),
                received: Int64(progress.received), received_total: Int64(progress.receivedTotal ?? -1))
            callback(context.pointer, Handle.lend(task), &converted)
        }
    }

    func setBody(_ body: RequestBody) {
        request.body = body
        request.impliedType = nil
        hasFormFields = false
        handlers.rewindBody = nil
    }

    func rewind(_ callback: nj_rewind_fn?) throws(NightjarError) {
        guard case .stream = request.body else {
            throw NightjarError(.invalidArgument, "the request has no streamed body to rewind")
        }
        guard let callback else { return handlers.rewindBody = nil }
        handlers.rewindBody = { [bodyContext] (task: ClientTask) in callback(bodyContext.pointer, Handle.lend(task)) }
    }

    func addFormField(_ name: String, _ value: String) throws(NightjarError) {
        // Each byte becomes at most three.
        let length = 3 * (name.utf8.count + value.utf8.count) + 2
        guard length <= Configuration.largestBody - (hasFormFields ? request.body.length ?? 0 : 0) else {
            throw NightjarError(.invalidArgument, "the form's fields are larger than 2 GiB; send a multipart form")
        }
        try CheckedMemory.check(length, for: "the form's fields")
        let field = FormEncoding.encode([(name, value)])
        if hasFormFields, case .bytes(var fields) = request.body {
            request.body = .none  // makes the buffer unique, so that it grows in place
            defer { request.body = .bytes(fields) }
            try fields.reserve(1 + field.readableBytes, for: "the form's fields")
            fields.writeStaticString("&")
            fields.writeImmutableBuffer(field)
        } else {
            setBody(.bytes(field))
            request.impliedType = .form
            hasFormFields = true
        }
    }

    func stream(_ length: Int?, _ read: @escaping nj_read_fn, _ context: CallbackContext) {
        setBody(.stream(length: length))
        bodyContext = context
        handlers.provideBody = { task, maximum in
            var buffer = ByteBufferAllocator().buffer(capacity: maximum)
            var outcome: Int64 = 0
            buffer.withUnsafeMutableWritableBytes { space in
                outcome = read(context.pointer, Handle.lend(task), space.baseAddress, min(space.count, maximum))
            }
            guard outcome >= 0, outcome <= Int64(maximum), let count = Int(exactly: outcome) else {
                return .failed(
                    outcome == NJ_READ_FAILED
                        ? "the body callback failed"
                        : "the body callback returned \(outcome), which is neither a valid count nor NJ_READ_FAILED"
                )
            }
            if count == 0 { return .end }
            buffer.moveWriterIndex(forwardBy: count)
            return .bytes(buffer)
        }
    }
}

func changeRequest(_ request: OpaquePointer?, _ body: (RequestBox) throws(NightjarError) -> Void) -> nj_status {
    setting { () throws(NightjarError) in try body(required(Handle<RequestBox>.borrow(request), "request")) }
}

func bytes(_ pointer: UnsafeRawPointer?, _ length: Int) throws(NightjarError) -> ByteBuffer {
    guard pointer != nil || length == 0 else {
        throw NightjarError(.invalidArgument, "the body is NULL but its length is not 0")
    }
    guard 0...Configuration.largestBody ~= length else {  // a size_t above Int.max is negative here
        throw NightjarError(.invalidArgument, "the body is larger than 2 GiB; use a streamed body")
    }
    return try ByteBuffer(copying: UnsafeRawBufferPointer(start: pointer, count: length), for: "the request's body")
}

@_cdecl("nj_request_new") @implementation
public func nj_request_new(_ method: UnsafePointer<CChar>?, _ target: UnsafePointer<CChar>?) -> OpaquePointer? {
    guard let method = text(method).flatMap(Method.init), let target = text(target) else { return nil }
    return Handle.make(RequestBox(Request(method, target)))
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
public func nj_request_set_max_redirects(_ request: OpaquePointer?, _ count: Int32) -> nj_status {
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
