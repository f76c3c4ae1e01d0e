import CLua
import NIOCore
import Nightjar
import NightjarHTTP
import NightjarHandles
import NightjarTesting

// Clients, and the calls that scripts make. Functions that can fail return the error as a failed `Future`.

@_cdecl("njl_client_new") @implementation
public func njl_client_new(
    _ options: njl_bytes, _ engine: OpaquePointer?, _ listener: UnsafePointer<njl_listener>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        var configuration = Configuration()
        try configuration.merge(json: options.buffer)
        if let engine = Handle<Engine>.borrow(engine), let listener = listener?.pointee {
            configuration.observers = engine.observers
            configuration.recording = engine.recording
            if let level = LogSink.Level(rawValue: listener.level), level > .off {
                configuration.log = engine.logSink(level, listener.number)
            }
            try configuration.attach(engine.callbacks, of: listener)
            if listener.reports_pins { configuration.reportPinMismatches(to: engine, listener.number) }
            if listener.observes_steps { configuration.reportSteps(to: engine, listener.number) }
            if listener.decides_challenges {
                configuration.decideChallenges(by: engine.callbacks, listener.number)
            }
            if listener.decides_requests || listener.decides_storing {
                configuration.attachHooks(engine.callbacks, of: listener)
            }
            configuration.attachAddressFunctions(engine.callbacks, of: listener)
            configuration.hostTokens = Handle<HostTokenStore.Access>.borrow(listener.token_store)
            if let mock = Handle<Mock>.borrow(listener.mock) { configuration.mock = mock }
        }
        return Handle<Client>.make(try Client(configuration))
    }
}

@_cdecl("njl_client_retain") @implementation
public func njl_client_retain(_ client: OpaquePointer?) {
    Handle<Client>.retain(client)
}

@_cdecl("njl_client_release") @implementation
public func njl_client_release(_ client: OpaquePointer?) {
    Handle<Client>.release(client)
}

@_cdecl("njl_client_close") @implementation
public func njl_client_close(_ client: OpaquePointer?) {
    Handle<Client>.borrow(client)?.close()
}

@_cdecl("njl_call_start") @implementation
public func njl_call_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ request: UnsafePointer<njl_request>?, _ wait: OpaquePointer?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client),
            let request = request?.pointee, let wait
        else { throw NightjarError(.invalidArgument, "the client is closed") }
        if let insertion = request.insertion?.pointee {
            return Handle<Future>.make(
                try engine.insertResponse(insertion, for: try Request(request), on: client, for: wait))
        }
        if request.is_bare,
            let again = try engine.startAgain(request.method.buffer, request.target.buffer, on: client, for: wait)
        {
            return Handle<Future>.make(again)
        }
        if request.is_cache_lookup {
            return Handle<Future>.make(try engine.lookUp(try Request(request), on: client, for: wait))
        }
        // The request is changed in place. A copy would cost as much CPU time as a stage of the call.
        var requested = try Request(methodAndTarget: request)
        try requested.read(request, for: client)
        let subrequest = Handle<Subrequest>.borrow(request.subrequest)
        try subrequest?.settle(&requested, request, for: client)
        let events = Handle<EventReader>.borrow(request.events)
        if let events { requested = try events.prepare(requested) }
        let future = try engine.start(
            consume requested, on: client, for: wait,
            Engine.CallbackOptions(
                isStreamed: request.is_streamed, decidesRedirects: request.decides_redirects,
                decidesRetries: request.decides_retries, restartsBody: request.restarts_body,
                reportsRefresh: request.reports_refresh, reportsProgress: request.reports_progress,
                reportsWaiting: request.reports_waiting,
                isFollowed: request.is_followed))
        subrequest?.call = future
        events?.started(future)
        return Handle<Future>.make(future)
    }
}

@_cdecl("njl_call_abandon") @implementation
public func njl_call_abandon(_ call: OpaquePointer?) {
    guard let future = Handle<Future>.borrow(call) else { return }
    future.wait = nil
    future.task?.cancel()
    future.operation?.cancel()
    future.abandon?()
}

@_cdecl("njl_call_redirect_status") @implementation
public func njl_call_redirect_status(_ call: OpaquePointer?) -> Int32 {
    Int32(clamping: Handle<Future>.borrow(call)?.proposed?.status ?? 0)
}

@_cdecl("njl_call_redirect") @implementation
public func njl_call_redirect(_ call: OpaquePointer?, _ follows: Bool, _ url: njl_bytes) {
    guard let future = Handle<Future>.borrow(call) else { return }
    future.proposed = nil
    guard url.length > 0 else {
        future.task?.redirect(follows ? .follow : .stop)
        return
    }
    // Bytes that are not UTF-8 become U+FFFD, and the task rejects the URL.
    future.task?.redirect(.followTo(String(decoding: url.buffer, as: UTF8.self)))
}

@_cdecl("njl_call_cancel") @implementation
public func njl_call_cancel(_ call: OpaquePointer?) {
    guard let future = Handle<Future>.borrow(call) else { return }
    future.incoming?.close()
    future.task?.cancel()
    future.operation?.cancel()
}

@_cdecl("njl_call_attempt") @implementation
public func njl_call_attempt(_ call: OpaquePointer?, _ attempt: UnsafeMutablePointer<njl_attempt>?) -> Bool {
    guard let failedAttempt = Handle<Future>.borrow(call)?.retry else { return false }
    var view = njl_attempt(number: Int32(clamping: failedAttempt.attempt), again: false, after: 0)
    if case .again(let wait) = failedAttempt.verdict { (view.again, view.after) = (true, wait.inSeconds) }
    attempt?.pointee = view
    return true
}

@_cdecl("njl_call_progress") @implementation
public func njl_call_progress(_ call: OpaquePointer?, _ result: UnsafeMutablePointer<njl_progress>?) -> Bool {
    guard let progress = Handle<Future>.borrow(call)?.takeProgress() else { return false }
    result?.pointee = njl_progress(
        sent: Int64(progress.sent), sent_total: Int64(progress.sentTotal ?? -1), received: Int64(progress.received),
        received_total: Int64(progress.receivedTotal ?? -1))
    return true
}

@_cdecl("njl_call_waits") @implementation
public func njl_call_waits(_ call: OpaquePointer?) -> UnsafePointer<CChar>? {
    guard let reason = Handle<Future>.borrow(call)?.takeWaiting() else { return nil }
    let name: StaticString =
        switch reason {
        case .noNetwork: "none"
        case .metered: "metered"
        case .constrained: "constrained"
        }
    return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

@_cdecl("njl_call_attempt_error") @implementation
public func njl_call_attempt_error(_ call: OpaquePointer?) -> OpaquePointer? {
    let call = Handle<Future>.borrow(call)
    guard let error = call?.retry?.error else { return nil }
    return Handle<Future>.make(Future(.failure(error), of: call))
}

@_cdecl("njl_call_retry") @implementation
public func njl_call_retry(_ call: OpaquePointer?, _ retry: njl_retry, _ after: Double) {
    guard let future = Handle<Future>.borrow(call) else { return }
    future.retry = nil
    switch retry {
    case NJL_RETRY_AGAIN: future.task?.retry(.again(after: Duration(seconds: after) ?? .zero))
    case NJL_RETRY_STOP: future.task?.retry(.stop)
    default: future.task?.retry(.asDecided)
    }
}

@_cdecl("njl_idempotency_key") @implementation
public func njl_idempotency_key(_ text: UnsafeMutablePointer<CChar>?) {
    var random = SystemRandomNumberGenerator()
    let key = IdempotencyKey(using: &random)
    for (index, byte) in key.text.utf8.enumerated() where index < NJL_KEY_LENGTH {
        text?[index] = CChar(bitPattern: byte)
    }
}

/// Runs `body`. If `body` throws, stores the error in `error` as a failed ``Future`` and returns nil.
func refusing(
    _ error: UnsafeMutablePointer<OpaquePointer?>?, _ body: () throws(NightjarError) -> OpaquePointer
) -> OpaquePointer? {
    do throws(NightjarError) {
        return try body()
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return nil
    }
}

extension Request {
    init(_ source: njl_request) throws(NightjarError) {
        try self.init(methodAndTarget: source)
        try read(source)
    }

    init(methodAndTarget source: njl_request) throws(NightjarError) {
        self.init(try Method(source.method), try source.target.text("the path"))
    }

    /// Reads all fields except the method and the target.
    mutating func read(_ source: njl_request) throws(NightjarError) {
        query = Items(try source.queryItems)
        parameters = Items(try source.parameters)
        for pair in UnsafeBufferPointer(start: source.headers, count: source.header_count) {
            try headers.add(try pair.name.text("a header name"), try pair.value.text("a header value"))
        }
        if source.streams_body {
            body = .stream(length: source.body_length < 0 ? nil : Int(exactly: source.body_length))
        }
        if source.file.data != nil {
            body = .file(
                path: try source.file.text("the path of the file"), offset: Int(source.file_offset),
                length: source.file_length < 0 ? nil : Int(source.file_length))
        }
        if source.has_form { body = .multipart(try MultipartForm(try source.formParts())) }
        if source.has_body {
            guard source.body.length <= Configuration.largestBody else {
                throw NightjarError(
                    .invalidRequest, "the body is larger than 2 GiB; pass it as a function that returns its parts")
            }
            body = .bytes(try ByteBuffer(copying: source.body.buffer, for: "the request's body"))
            switch source.implied_type {
            case NJL_TYPE_JSON: impliedType = .json
            case NJL_TYPE_FORM: impliedType = .form
            default: impliedType = nil
            }
        }
        for status in UnsafeBufferPointer(start: source.expected, count: source.expected_count) {
            expectedStatuses.append(StatusRange(Int(status)))
        }
        if source.rare.length > 0 { try merge(json: source.rare.buffer) }
        timeouts = Timeouts(
            connect: Duration(seconds: source.connect), idle: Duration(seconds: source.idle),
            total: Duration(seconds: source.total))
    }
}

extension njl_request {
    var queryItems: [(name: String, value: String)] {
        get throws(NightjarError) {
            var items: [(name: String, value: String)] = []
            for pair in UnsafeBufferPointer(start: query, count: query_count) {
                items.append((try pair.name.text("a query name"), try pair.value.text("a query value")))
            }
            return items
        }
    }

    /// The values for the URI template in the target.
    var parameters: [(name: String, value: String)] {
        get throws(NightjarError) {
            var values: [(name: String, value: String)] = []
            for pair in UnsafeBufferPointer(start: params, count: param_count) {
                values.append((try pair.name.text("a parameter's name"), try pair.value.text("a parameter")))
            }
            return values
        }
    }

    fileprivate func formParts() throws(NightjarError) -> [MultipartForm.Part] {
        var result: [MultipartForm.Part] = []
        for source in UnsafeBufferPointer(start: parts, count: part_count) {
            guard source.content.length <= Configuration.largestBody else {
                throw NightjarError(.invalidRequest, "a part of the form is larger than 2 GiB; pass it as a file")
            }
            let content: MultipartForm.Content =
                source.is_file
                ? .file(path: try source.content.text("the path of a file"), length: nil)
                : .bytes(try ByteBuffer(copying: source.content.buffer, for: "a part of the form"))
            var part = MultipartForm.Part(try source.name.text("the name of a part"), content)
            if source.filename.data != nil { part.filename = try source.filename.text("the name of a file") }
            if source.content_type.data != nil { part.contentType = try source.content_type.text("a content type") }
            result.append(part)
        }
        return result
    }
}

extension Method {
    /// Compares the usual methods as bytes, so that most calls create no string.
    init(_ name: njl_bytes) throws(NightjarError) {
        for method in Method.usual where name.buffer.elementsEqual(method.name.utf8) {
            self = method
            return
        }
        let text = try name.text("the method")
        guard let method = Method(text) else {
            throw NightjarError(.invalidRequest, "\"\(text)\" is not a request method; use letters, as in PATCH")
        }
        self = method
    }

    private static let usual: [Method] = [.get, .post, .put, .patch, .delete, .head]
}

extension njl_bytes {
    /// Returns the bytes as text. Throws `invalid_request` if they are not UTF-8.
    ///
    /// - Parameter role: what the text is, for messages: "the path".
    func text(_ role: String) throws(NightjarError) -> String {
        // Fast path: nearly all texts are ASCII.
        let bytes = buffer
        if (bytes.reduce(0) { $0 | $1 }) < 0x80 { return String(decoding: bytes, as: UTF8.self) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw NightjarError(.invalidRequest, "\(role) is not valid UTF-8")
        }
        return text
    }
}
