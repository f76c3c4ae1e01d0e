import CNightjar
import NIOCore
import Nightjar
import NightjarAPI
import NightjarHTTP
import NightjarHandles

/// A request that C fills step by step, and the callbacks of its calls.
final class RequestBox {
    var request: Request
    var texts = LentTexts()
    /// The endpoint to call; nil: the request has its own method and target.
    var endpoint: EndpointCall?
    /// Whether the body consists of the fields of nj_request_add_form_field.
    private var hasFormFields = false
    /// The callbacks of each call, except for its completion.
    private var handlers = TaskHandlers { _, _ in }
    /// The callback for lines or JSON values; nil: none.
    private var records: RecordCallback?
    /// The maximum length of a line or JSON value in bytes.
    var maximumLine = RecordFormat.defaultMaximumLength
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
        records = other.records
        maximumLine = other.maximumLine
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

    /// Passes the request, with the arguments of its endpoint, to `body`. Avoids a copy, because requests are large.
    ///
    /// - Throws: the errors of `body`, and `invalid_request` for invalid endpoint arguments.
    @inline(__always)
    func withRequest<Result>(
        for client: Client, _ body: (inout Request) throws(NightjarError) -> Result
    ) throws(NightjarError) -> Result {
        guard let endpoint else { return try body(&request) }
        var made = request
        try client.apply(endpoint.operation, endpoint.arguments, to: &made)
        return try body(&made)
    }

    /// Returns a copy of the request, with the arguments of its endpoint.
    func request(for client: Client) throws(NightjarError) -> Request {
        try withRequest(for: client) { request throws(NightjarError) in request }
    }

    func handlers(
        finished: @escaping @Sendable (ClientTask, Result<Response, NightjarError>) -> Void
    ) -> TaskHandlers {
        var handlers = handlers
        handlers.finished = finished
        records?.add(to: &handlers, maximumLine)
        return handlers
    }

    func onHead(_ callback: nj_head_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.head = nil }
        handlers.head = { (task: ClientTask, response: Response) in
            let box = ResponseBox(response)
            withExtendedLifetime(box) { callback(context.pointer, Handle.lend(task), Handle.lend(box)) }
        }
    }

    func onRedirect(_ callback: nj_redirect_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.redirect = nil }
        handlers.redirect = { (task: ClientTask, proposed: ProposedRedirect) in
            let box = RedirectBox(proposed)
            let action = withExtendedLifetime(box) { callback(context.pointer, Handle.lend(task), Handle.lend(box)) }
            return switch action {
            case NJ_REDIRECT_FOLLOW: box.target.map(TaskHandlers.RedirectAction.followTo) ?? .follow
            case NJ_REDIRECT_STOP: .stop
            default: .refuse(nil)
            }
        }
    }

    func onRetry(_ callback: nj_retry_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.retry = nil }
        handlers.retry = { (task: ClientTask, failedAttempt: TaskHandlers.FailedAttempt) in
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

    func onLine(_ callback: nj_line_fn?, _ context: CallbackContext) {
        handlers.body = nil
        records = callback.map { .lines($0, context) }
    }

    func onJSON(_ callback: nj_json_fn?, _ context: CallbackContext) {
        handlers.body = nil
        records = callback.map { .values($0, context) }
    }

    func onEvent(_ callback: nj_event_fn?, _ context: CallbackContext) {
        handlers.body = nil
        records = callback.map { .events($0, context) }
    }

    func onBody(_ callback: nj_body_fn?, _ context: CallbackContext) {
        records = nil
        guard let callback else { return handlers.body = nil }
        handlers.body = { (task: ClientTask, bytes: ByteBuffer) in
            bytes.withUnsafeReadableBytes { callback(context.pointer, Handle.lend(task), $0.baseAddress, $0.count) }
        }
    }

    func onProgress(_ callback: nj_progress_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.progress = nil }
        handlers.progress = { (task: ClientTask, progress: TaskHandlers.Progress) in
            var converted = nj_progress(
                sent: Int64(progress.sent), sent_total: Int64(progress.sentTotal ?? -1),
                received: Int64(progress.received), received_total: Int64(progress.receivedTotal ?? -1))
            callback(context.pointer, Handle.lend(task), &converted)
        }
    }

    func onWaiting(_ callback: nj_waiting_fn?, _ context: CallbackContext) {
        guard let callback else { return handlers.waiting = nil }
        handlers.waiting = { (task: ClientTask, reason: OfflineReason) in
            callback(context.pointer, Handle.lend(task), nj_offline_reason(reason))
        }
    }

    func setBody(_ body: RequestBody) {
        request.body = body
        request.impliedType = nil
        request.isGraphQL = false
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
        // The encoding of a byte has at most three bytes.
        let length = 3 * (name.utf8.count + value.utf8.count) + 2
        guard length <= Configuration.largestBody - (hasFormFields ? request.body.length ?? 0 : 0) else {
            throw NightjarError(
                .invalidArgument, "the form's fields are larger than 2 GiB; use nj_request_set_body_form")
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
            bodyPart(maximum, from: "nj_read_fn") { read(context.pointer, Handle.lend(task), $0, $1) }
        }
    }
}

/// Returns the part of a body that a C function has written.
///
/// - Parameters:
///   - name: The name of the function, for errors.
///   - read: Writes the part to a buffer of a capacity, and returns the number of bytes, 0 at the end of the body,
///     NJ_READ_LATER or NJ_READ_FAILED.
func bodyPart(
    _ maximum: Int, from name: StaticString, _ read: (UnsafeMutableRawPointer?, Int) -> Int64
) -> TaskHandlers.BodyPart {
    var buffer = ByteBufferAllocator().buffer(capacity: maximum)
    var outcome: Int64 = 0
    buffer.withUnsafeMutableWritableBytes { space in
        outcome = read(space.baseAddress, min(space.count, maximum))
    }
    guard outcome != NJ_READ_LATER else { return .later }
    guard outcome >= 0, outcome <= Int64(maximum), let count = Int(exactly: outcome) else {
        return .failed(
            outcome == NJ_READ_FAILED
                ? "the body's source failed: \(name) returned NJ_READ_FAILED"
                : "\(name) returned \(outcome), which is neither a valid count nor NJ_READ_LATER nor NJ_READ_FAILED")
    }
    if count == 0 { return .end }
    buffer.moveWriterIndex(forwardBy: count)
    return .bytes(buffer)
}
