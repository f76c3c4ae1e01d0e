import NIOCore
import NightjarCoding
import NightjarHTTP

extension Request {
    /// Whether ``withContent(for:idle:)`` must be called. False for most requests.
    func needsContent(idle: Duration?) -> Bool {
        compresses || body.isStreamedFromCaller || expectsContinue == nil && expectationIsUseless(idle)
    }

    /// Whether the idle timeout is so short that it would expire if the server ignores Expect: 100-continue.
    private func expectationIsUseless(_ idle: Duration?) -> Bool {
        guard let idle, idle <= ExpectContinue.continueTimeout else { return false }
        return ExpectContinue.isWorthwhile(for: body)
    }

    /// Returns the request with its final content: files are measured, content in memory is compressed if
    /// ``compresses`` is set, and the fields that describe the content are set. Runs on the caller's thread. Opens
    /// files, but reads at most one byte of each.
    ///
    /// - Parameter idle: The idle timeout of the call.
    /// - Throws: `invalid_request` with the path of a file that cannot be sent, or if the Content-Type or
    ///   Content-Encoding field contradicts the body; `no_memory`.
    func withContent(for template: RequestTemplate, idle: Duration?) throws(NightjarError) -> Request {
        var request = self
        if expectsContinue == nil, expectationIsUseless(idle) { request.expectsContinue = false }
        switch body {
        case .none, .bytes, .stream, .upgrade: break
        case .file(let path, let offset, let length):
            request.body = try Request.measured(path, offset, length)
            if !hasHeader("Content-Type"), !template.hasField("Content-Type") {
                try request.headers.set("Content-Type", FileType.contentType(of: path))
            }
        case .multipart(let form):
            request.body = .multipart(
                try form.measured { path throws(NightjarError) in try ContentFile(path).knownLength() })
            try request.headers.set("Content-Type", contentType(of: form))
        }
        if compresses { try request.compress() }
        return request
    }

    private func hasHeader(_ name: String) -> Bool { headers.firstIndex(of: name) != nil }

    private static func measured(
        _ path: String, _ offset: Int, _ length: Int?
    ) throws(NightjarError) -> RequestBody {
        let available = try ContentFile(path).knownLength()
        guard offset >= 0, length ?? 0 >= 0 else {
            throw NightjarError(
                .invalidRequest,
                "the offset and length of \(quoted(path)) must not be negative, got \(offset) and \(length ?? 0)")
        }
        guard offset <= available, length ?? 0 <= available - offset else {
            let end = length.map { " to \(offset.addingReportingOverflow($0).partialValue)" } ?? ""
            throw NightjarError(
                .invalidRequest,
                "the file \(quoted(path)) has \(available) bytes, so the range from \(offset)\(end) is out of bounds")
        }
        return .file(path: path, offset: offset, length: length ?? available - offset)
    }

    /// Returns the form's media type. If the caller set a multipart type, such as `multipart/related`, returns that
    /// type with the form's boundary.
    private func contentType(of form: MultipartForm) throws(NightjarError) -> String {
        guard let chosen = headers["Content-Type"] else { return form.contentType }
        let type = MediaType(chosen)
        guard let type, type.type == "multipart", type["boundary"] == nil else {
            throw NightjarError(
                .invalidRequest,
                "the body is a form, whose Content-Type is multipart/form-data with a generated boundary; remove the "
                    + "header \(quoted("Content-Type: \(chosen)"))")
        }
        return "\(chosen); boundary=\(form.boundary)"
    }

    // MARK: Compression

    private mutating func compress() throws(NightjarError) {
        if hasHeader("Content-Encoding") {
            throw NightjarError(
                .invalidRequest,
                "the request already has a Content-Encoding header; remove the header or the "
                    + "option compress"
            )
        }
        switch body {
        case .none, .upgrade: return
        case .bytes(let bytes):
            let compressed = try Request.gzip(bytes)
            guard compressed.readableBytes < bytes.readableBytes else { return compresses = false }
            body = .bytes(compressed)
        case .stream, .file, .multipart: break
        }
        try headers.set("Content-Encoding", "gzip")
    }

    private static func gzip(_ bytes: ByteBuffer) throws(NightjarError) -> ByteBuffer {
        var encoder = try GzipEncoder()
        var compressed = ByteBuffer()
        let append = { (part: ByteBuffer) throws(NightjarError) in
            try compressed.append(part, for: "the compressed body")
        }
        try encoder.encode(bytes, into: append)
        try encoder.finish(into: append)
        return compressed
    }
}
