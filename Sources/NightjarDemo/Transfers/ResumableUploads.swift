import NIOCore
import NIOHTTP1
import NightjarCrypto

/// `/resumable`: a server of "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload, interop version 8).
/// ``UploadSettings`` describes the parameters of the creation.
///
/// A request without Upload-Complete is an ordinary upload. The final response of an upload is a JSON object with the length
/// and the digest of the content.
struct ResumableUploads {
    let store: UploadStore

    static let interopField = "Upload-Draft-Interop-Version"
    static let interopVersion = "8"
    private static let type = "application/partial-upload"
    private static let problems = "https://iana.org/assignments/http-problem-types#"

    func add(to router: inout Router) {
        router.on(.OPTIONS, "/resumable", describe)
        router.stream(.POST, "/resumable", create)
        router.stream(.PUT, "/resumable", create)
        router.on(.HEAD, "/resumable/{id}", head)
        router.stream(.PATCH, "/resumable/{id}", append)
        router.on(.DELETE, "/resumable/{id}", cancel)
    }

    private func describe(_ request: Request) throws(Problem) -> Response {
        let settings = try UploadSettings(request)
        return Response(.noContent, headers: ["Accept-Patch": ResumableUploads.type]).adding(limits(settings))
    }

    private func limits(_ settings: UploadSettings) -> HTTPHeaders {
        var limits: [String] = []
        if let size = settings.maximumSize { limits.append("max-size=\(size)") }
        if let size = settings.maximumAppend { limits.append("max-append-size=\(size)") }
        if let size = settings.minimumAppend { limits.append("min-append-size=\(size)") }
        if let lifetime = settings.lifetime { limits.append("max-age=\(RetryAfter.wholeSeconds(lifetime))") }
        return limits.isEmpty ? [:] : ["Upload-Limit": limits.joined(separator: ", ")]
    }

    /// Reads the field Upload-Complete. Nil if it is missing or invalid.
    private func completeness(_ request: Request) -> Bool? {
        switch request.head.headers.first(name: "upload-complete")?.trimmed {
        case "?1": true
        case "?0": false
        default: nil
        }
    }

    private func problem(
        _ status: HTTPResponseStatus, _ type: String, _ detail: String, _ members: [JSON.Member] = []
    ) -> Problem {
        var problem = Problem(status, detail)
        problem.type = ResumableUploads.problems + type
        problem.members = members
        return problem
    }

    private var inconsistentLength: Problem {
        problem(.badRequest, "inconsistent-upload-length", "inconsistent length values for upload")
    }

    /// Returns the length that a request states. Nil if it states none.
    ///
    /// - Throws: 400 if its statements disagree.
    private func statedLength(_ request: Request, offset: Int) throws(Problem) -> Int? {
        let field = try request.head.naturalField("upload-length")
        guard completeness(request) == true, let rest = request.head.contentLength else { return field }
        guard field == nil || field == offset + rest else { throw inconsistentLength }
        return offset + rest
    }

    // MARK: Creation

    private func create(_ request: Request) throws(Problem) -> any BodySink {
        let settings = try UploadSettings(request)
        let isComplete = completeness(request)
        let length = try statedLength(request, offset: 0)
        if let length, let limit = settings.maximumSize, length > limit {
            throw Problem(
                .payloadTooLarge, "the upload is longer than \(limit) bytes", headers: limits(settings))
        }
        try checkSize(request, settings)
        let names = ["Content-Type", "Content-Encoding", "Content-Disposition", "Repr-Digest"]
        let metadata = names.compactMap { name in
            request.head.headers.first(name: name).map { (name: name, value: $0) }
        }
        let upload = store.create(kind: "resumable", settings, length: length, metadata: metadata)
        var fields: HTTPHeaders = [:]
        if isComplete != nil, settings.location != "none" {
            fields = limits(settings)
            fields.add(name: "Location", value: settings.location(of: upload, request))
        }
        return upload.receive(request, [:]) { entry in
            let sink = UploadSink(upload, entry, fields, check: check(request)) {
                isComplete == false ? appended(upload, .created) : completed(upload)
            }
            if isComplete != nil, settings.sendsInterim, usesInterim(request) {
                var interim = UploadSink.interim
                for (name, value) in fields { interim.headers.add(name: name, value: value) }
                (sink.firstInterim, sink.reportsProgress) = (interim, true)
            }
            return sink
        }
    }

    /// A server must not send 104 responses to clients of other versions of the draft.
    private func usesInterim(_ request: Request) -> Bool {
        request.head.headers.first(name: ResumableUploads.interopField) == ResumableUploads.interopVersion
    }

    /// Checks the size of a request's body.
    private func checkSize(_ request: Request, _ settings: UploadSettings) throws(Problem) {
        guard let length = request.head.contentLength else { return }
        if let limit = settings.maximumAppend, length > limit {
            throw Problem(
                .payloadTooLarge, "the body is larger than max-append-size (\(limit) bytes)", headers: limits(settings))
        }
        if let limit = settings.minimumAppend, length < limit, length > 0, completeness(request) != true {
            throw Problem(
                .badRequest, "the body is smaller than min-append-size (\(limit) bytes)", headers: limits(settings))
        }
    }

    // MARK: Upload resource

    private func head(_ request: Request) throws(Problem) -> Response {
        let upload = try store.upload(request, kind: "resumable")
        return upload.respond(to: request, ["Cache-Control": "no-store"]) {
            var fields = limits(upload.settings)
            fields.add(name: "Upload-Offset", value: String(upload.reportOffset()))
            fields.add(name: "Upload-Complete", value: upload.isComplete ? "?1" : "?0")
            if let length = upload.length { fields.add(name: "Upload-Length", value: String(length)) }
            return Response(.noContent, headers: fields)
        }
    }

    private func append(_ request: Request) throws(Problem) -> any BodySink {
        let upload = try store.upload(request, kind: "resumable")
        return upload.receive(request, [:]) { entry throws(Problem) in
            guard request.head.headers.first(name: "content-type") == ResumableUploads.type else {
                throw Problem(.unsupportedMediaType, "Content-Type must be \(ResumableUploads.type)")
            }
            guard let offset = try request.head.naturalField("upload-offset"), let isComplete = completeness(request)
            else { throw Problem(.badRequest, "a PATCH must have Upload-Offset and Upload-Complete") }
            guard !upload.isComplete else {
                throw problem(.badRequest, "completed-upload", "upload is already completed")
            }
            guard let overlap = upload.overlap(at: offset) else { throw mismatch(upload, offset) }
            let length = try statedLength(request, offset: offset)
            guard length == nil || upload.length == nil || length == upload.length else { throw inconsistentLength }
            upload.length = upload.length ?? length
            try checkSize(request, upload.settings)
            let sink = UploadSink(upload, entry, [:], check: check(request)) {
                isComplete ? completed(upload) : appended(upload, .noContent)
            }
            sink.skipped = overlap
            sink.reportsProgress = upload.settings.sendsInterim && usesInterim(request)
            return sink
        }
    }

    private func mismatch(_ upload: StoredUpload, _ offset: Int) -> Problem {
        var problem = problem(
            .conflict, "mismatching-upload-offset", "offset from request does not match offset of resource",
            [
                .init(name: "expected-offset", value: .int(upload.offset)),
                .init(name: "provided-offset", value: .int(offset)),
            ])
        problem.headers = ["Upload-Offset": String(upload.offset), "Upload-Complete": "?0"]
        return problem
    }

    private func appended(_ upload: StoredUpload, _ status: HTTPResponseStatus) -> Response {
        Response(status, headers: ["Upload-Complete": "?0", "Upload-Offset": String(upload.reportOffset())])
            .adding(limits(upload.settings))
    }

    /// Returns the response of the resource that processes the content.
    private func completed(_ upload: StoredUpload) -> Response {
        upload.length = upload.length ?? upload.offset
        guard upload.offset == upload.length else { return inconsistentLength.response }
        upload.isComplete = true
        let field = upload.metadata.first { $0.name == "Repr-Digest" }?.value
        let digest = field.flatMap { ResumableUploads.digest($0) }
        guard digest == nil || digest?.hexadecimal == upload.sha256 else {
            return Problem(.unprocessableEntity, "the content does not have its Repr-Digest").response
                .adding(["Upload-Complete": "?1"])
        }
        return Response.json(["bytes": .int(upload.offset), "sha256": .optional(upload.sha256)])
            .adding(["Upload-Complete": "?1"])
    }

    private func cancel(_ request: Request) throws(Problem) -> Response {
        let upload = try store.upload(request, kind: "resumable")
        return upload.respond(to: request, [:]) {
            upload.isRemoved = true
            return Response(.noContent)
        }
    }

    /// Reads the field Content-Digest. Nil if the request has no SHA-256 digest.
    private func check(_ request: Request) -> UploadSink.Check? {
        request.head.headers.first(name: "content-digest").flatMap { ResumableUploads.digest($0) }
            .map { UploadSink.Check(function: .sha256, digest: $0) }
    }

    /// Returns the SHA-256 digest of a field of RFC 9530.
    private static func digest(_ text: String) -> [UInt8]? {
        for part in text.split(separator: ",") {
            let part = part.trimmed
            guard part.hasPrefix("sha-256=:"), part.hasSuffix(":") else { continue }
            return Base64.decode(part.dropFirst(9).dropLast())
        }
        return nil
    }
}
