import NIOCore

// Sets the body of a request as its operation requires. OpenAPI 3.1 sections 4.8.13 to 4.8.15.

extension Operation {
    /// Sets the body of `request`. If `body` is nil, checks the existing body.
    ///
    /// - Throws: `invalid_request` if a body is missing or not accepted, has a media type that is not accepted, or does
    ///   not match its schema; `no_memory` if the memory to validate the body cannot be allocated.
    func setBody(_ body: Arguments.Body?, of request: inout Request) throws(NightjarError) {
        switch body {
        case .value(let value): try setBody(value, of: &request)
        case .content(let content, let type):
            if let type { try request.headers.set("Content-Type", type) }
            request.body = content
            try check(&request)
        case nil: try check(&request)
        }
        guard self.content != nil, request.body.length != 0 else { return }
        if method == .get || method == .head { request.allowsBodyOnGet = true }
    }

    private func acceptedContent() throws(NightjarError) -> RequestContent {
        guard let content else { throw failure("it accepts no body") }
        return content
    }

    // MARK: A value

    private func setBody(_ value: JSONValue, of request: inout Request) throws(NightjarError) {
        let content = try acceptedContent()
        let requested = request.headers["Content-Type"].flatMap(MediaType.init)
        let choices = content.choices.filter { choice in requested.map { choice.includes($0) } ?? true }
        if let requested, choices.isEmpty { throw unacceptedMediaType(requested.essence, content) }
        for choice in choices {
            guard let way = choice.bodyText(requested), way.takes(value) else { continue }
            try check(value, choice)
            request.body = try wrapped { () throws(NightjarError) in try way.body(of: value, choice) }
            if requested == nil, let type = way.contentType(choice) { try request.headers.set("Content-Type", type) }
            return
        }
        throw failure(
            "its body cannot be built from \(value.typeName); it accepts \(content.types), so set the body as bytes")
    }

    private func check(_ value: JSONValue, _ choice: RequestContent.Choice) throws(NightjarError) {
        guard let deferred = choice.schema else { return }
        let schema: JSONSchema
        do throws(NightjarError) {
            schema = try deferred.get()
        } catch {
            guard error.kind != .noMemory else { throw error }
            throw failure("the schema of its body cannot be used: \(error.message)")
        }
        guard let mismatch = schema.mismatch(in: value, use: .request) else { return }
        let place = mismatch.path.tokens.isEmpty ? "" : " at \(quoted(mismatch.path.description, limit: 200))"
        throw failure("the body\(place) must be \(mismatch.expected), found \(mismatch.found)")
    }

    private func wrapped(_ make: () throws(NightjarError) -> RequestBody) throws(NightjarError) -> RequestBody {
        do throws(NightjarError) {
            return try make()
        } catch {
            throw failure("the body: \(error.message)")
        }
    }

    // MARK: Content

    /// Checks the body of the request, and sets its Content-Type if it is not set.
    private func check(_ request: inout Request) throws(NightjarError) {
        guard request.hasBody else {
            if let content, content.isRequired { throw failure("it requires a body; it accepts \(content.types)") }
            return
        }
        let content = try acceptedContent()
        if case .multipart = request.body { return try checkForm(content, &request) }
        let choice: RequestContent.Choice?
        if let type = request.headers["Content-Type"] {
            guard let requested = MediaType(type) else { throw unacceptedMediaType(type, content) }
            choice = content.choices.first { $0.includes(requested) }
            if choice == nil { throw unacceptedMediaType(requested.essence, content) }
        } else {
            choice = content.choices.first { !$0.isRange } ?? content.choices.first
            if let choice {
                // The type of a file is derived from its name when the file is sent.
                if !choice.isRange {
                    try request.headers.set("Content-Type", choice.mediaType)
                } else if case .bytes = request.body {
                    try request.headers.set("Content-Type", "application/octet-stream")
                }
            }
        }
        guard let choice, choice.schema != nil, case .bytes(let bytes) = request.body,
            MediaType(request.headers["Content-Type"] ?? "")?.isJSON == true
        else { return }
        let value: JSONValue
        do throws(NightjarError) {
            value = try JSONValue(parsing: bytes)
        } catch {
            guard error.kind == .decoding else { throw error }
            throw failure("the body is \(error.message)")
        }
        try check(value, choice)
    }

    private func checkForm(_ content: RequestContent, _ request: inout Request) throws(NightjarError) {
        let form = content.choices.first { MediaType($0.mediaType)?.type == "multipart" || $0.mediaType == "*/*" }
        guard let form else { throw unacceptedMediaType("multipart/form-data", content) }
        let type = MediaType(form.mediaType)
        // A multipart type other than a form. The boundary is appended when the body is sent.
        if let type, type.type == "multipart", !form.isRange, type.subtype != "form-data",
            request.headers.firstIndex(of: "Content-Type") == nil
        {
            try request.headers.set("Content-Type", type.essence)
        }
    }

    private func unacceptedMediaType(_ type: String, _ content: RequestContent) -> NightjarError {
        failure("its body cannot have the type \(quoted(type)); it accepts \(content.types)")
    }
}

extension Request {
    fileprivate var hasBody: Bool { if case .none = body { false } else { true } }
}

extension JSONValue {
    init(parsing bytes: ByteBuffer) throws(NightjarError) {
        self = try bytes.withUnsafeReadableBytes { bytes in
            Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
        }.get()
    }
}

extension RequestContent {
    /// The accepted types, for messages.
    var types: String {
        choices.isEmpty ? "anything" : choices.prefix(8).map(\.mediaType).joined(separator: ", ")
    }
}

extension RequestContent.Choice {
    var isRange: Bool { mediaType.contains("*") }

    /// Returns true if the type is accepted: `image/*` accepts `image/png`.
    func includes(_ type: MediaType) -> Bool {
        guard let own = MediaType(mediaType) else { return mediaType == type.essence }
        return (own.type == "*" || own.type == type.type) && (own.subtype == "*" || own.subtype == type.subtype)
    }

    /// Returns the serialization for this type. Returns nil if the type is invalid.
    ///
    /// - Parameter requested: the Content-Type of the request, which this type includes.
    fileprivate func bodyText(_ requested: MediaType?) -> BodyText? {
        guard let type = requested ?? MediaType(mediaType) else { return nil }
        if type.isJSON || type.type == "*" || type.essence == "application/*" { return .json }
        if type.essence == FormEncoding.contentType { return .form }
        if type.essence == "multipart/form-data" || type.essence == "multipart/*" { return .multipart }
        return .text
    }
}
