import NIOCore
import NIOHTTP1
import NightjarCrypto

/// `/tus`: a server of the protocol tus 1.0.0 with the extensions creation, creation-with-upload, creation-defer-length,
/// termination, checksum and expiration. ``UploadSettings`` describes the parameters of the creation.
struct TusUploads {
    let store: UploadStore

    private static let version = "1.0.0"
    private static let type = "application/offset+octet-stream"

    func add(to router: inout Router) {
        router.on(.OPTIONS, "/tus", describe)
        router.stream(.POST, "/tus", create)
        router.on(.HEAD, "/tus/{id}", head)
        router.stream(.PATCH, "/tus/{id}", append)
        router.on(.DELETE, "/tus/{id}", terminate)
    }

    private func describe(_ request: Request) throws(Problem) -> Response {
        let settings = try UploadSettings(request)
        var response = Response(.noContent, headers: TusUploads.fields)
        response.headers.add(name: "Tus-Version", value: TusUploads.version)
        response.headers.add(name: "Tus-Extension", value: settings.extensions.joined(separator: ","))
        if settings.extensions.contains("checksum") {
            response.headers.add(name: "Tus-Checksum-Algorithm", value: "sha1,sha256,md5")
        }
        if let size = settings.maximumSize { response.headers.add(name: "Tus-Max-Size", value: String(size)) }
        return response
    }

    private static let fields: HTTPHeaders = ["Tus-Resumable": version]
    private static let headFields: HTTPHeaders = ["Tus-Resumable": version, "Cache-Control": "no-store"]

    /// - Throws: 412 if the client does not use version 1.0.0.
    private func checkVersion(_ request: Request) throws(Problem) {
        guard request.head.headers.first(name: "tus-resumable") == TusUploads.version else {
            throw Problem(
                .preconditionFailed, "Tus-Resumable must be \(TusUploads.version)",
                headers: ["Tus-Version": TusUploads.version, "Tus-Resumable": TusUploads.version])
        }
    }

    // MARK: Creation

    private func create(_ request: Request) throws(Problem) -> any BodySink {
        try checkVersion(request)
        let settings = try UploadSettings(request)
        guard settings.extensions.contains("creation") else {
            throw Problem(.notFound, "the extension creation is not available")
        }
        let fields = request.head.headers
        let length = try request.head.naturalField("upload-length")
        let isDeferred =
            fields.first(name: "upload-defer-length") == "1" && settings.extensions.contains("creation-defer-length")
        guard (length == nil) == isDeferred else {
            throw Problem(.badRequest, "a creation must have Upload-Length, or Upload-Defer-Length with the value 1")
        }
        if let length, let limit = settings.maximumSize, length > limit {
            throw Problem(.payloadTooLarge, "the upload is longer than \(limit) bytes", headers: TusUploads.fields)
        }
        let hasBody = fields.first(name: "content-type") == TusUploads.type
        guard !hasBody || settings.extensions.contains("creation-with-upload") else {
            throw Problem(
                .badRequest, "the extension creation-with-upload is not available", headers: TusUploads.fields)
        }
        let check = hasBody ? try check(request, settings) : nil
        let metadata = fields.first(name: "upload-metadata").map { [(name: "Upload-Metadata", value: $0)] } ?? []
        let upload = store.create(kind: "tus", settings, length: length, metadata: metadata)
        return upload.receive(request, TusUploads.fields) { entry in
            let sink = UploadSink(upload, entry, TusUploads.fields, check: check) {
                Response(.created, headers: ["Location": settings.location(of: upload, request)])
                    .adding(hasBody ? appended(upload) : expiry(of: upload))
            }
            // A body of another type is not part of the upload.
            if !hasBody { sink.skipped = .max }
            return sink
        }
    }

    // MARK: Upload

    private func head(_ request: Request) throws(Problem) -> Response {
        try checkVersion(request)
        let upload = try store.upload(request, kind: "tus")
        return upload.respond(to: request, TusUploads.headFields) {
            var fields = expiry(of: upload)
            fields.add(name: "Upload-Offset", value: String(upload.reportOffset()))
            if let length = upload.length {
                fields.add(name: "Upload-Length", value: String(length))
            } else {
                fields.add(name: "Upload-Defer-Length", value: "1")
            }
            for (name, value) in upload.metadata { fields.add(name: name, value: value) }
            return Response(.ok, headers: fields)
        }
    }

    private func append(_ request: Request) throws(Problem) -> any BodySink {
        try checkVersion(request)
        let upload = try store.upload(request, kind: "tus")
        return upload.receive(request, TusUploads.fields) { entry throws(Problem) in
            guard request.head.headers.first(name: "content-type") == TusUploads.type else {
                throw Problem(.unsupportedMediaType, "Content-Type must be \(TusUploads.type)")
            }
            guard let offset = try request.head.naturalField("upload-offset") else {
                throw Problem(.badRequest, "a PATCH must have Upload-Offset")
            }
            if let length = try request.head.naturalField("upload-length") {
                guard upload.length == nil || upload.length == length, length >= upload.offset else {
                    throw Problem(.badRequest, "Upload-Length differs from the length of the upload")
                }
                upload.length = length
            }
            guard let overlap = upload.overlap(at: offset), !upload.isComplete || request.head.contentLength == 0 else {
                throw Problem(.conflict, "the offset of the upload is \(upload.offset), not \(offset)")
            }
            let check = try check(request, upload.settings)
            let sink = UploadSink(upload, entry, TusUploads.fields, check: check) {
                Response(.noContent).adding(appended(upload))
            }
            sink.skipped = overlap
            return sink
        }
    }

    /// Returns the fields of a response to an append, and completes an upload that has all bytes.
    private func appended(_ upload: StoredUpload) -> HTTPHeaders {
        if upload.offset == upload.length { upload.isComplete = true }
        var fields = expiry(of: upload)
        fields.add(name: "Upload-Offset", value: String(upload.reportOffset()))
        return fields
    }

    private func expiry(of upload: StoredUpload) -> HTTPHeaders {
        guard let lifetime = upload.settings.lifetime, upload.settings.extensions.contains("expiration"),
            !upload.isComplete
        else {
            return [:]
        }
        return ["Upload-Expires": RetryAfter.date(lifetime)]
    }

    private func terminate(_ request: Request) throws(Problem) -> Response {
        try checkVersion(request)
        let upload = try store.upload(request, kind: "tus")
        return upload.respond(to: request, TusUploads.fields) {
            guard upload.settings.extensions.contains("termination") else {
                return Problem(.methodNotAllowed, "the extension termination is not available").response
            }
            upload.isRemoved = true
            return Response(.noContent)
        }
    }

    /// Reads the field Upload-Checksum: the name of an algorithm and a digest in Base64.
    private func check(_ request: Request, _ settings: UploadSettings) throws(Problem) -> UploadSink.Check? {
        guard let text = request.head.headers.first(name: "upload-checksum"), settings.extensions.contains("checksum")
        else {
            return nil
        }
        let words = text.split(separator: " ")
        let functions: [Substring: HashFunction] = ["sha1": .sha1, "sha256": .sha256, "md5": .md5]
        guard words.count == 2, let digest = Base64.decode(words[1]), let function = functions[words[0]] else {
            throw Problem(.badRequest, "the algorithm of Upload-Checksum is not supported", headers: TusUploads.fields)
        }
        return UploadSink.Check(function: function, digest: digest)
    }
}

extension HTTPRequestHead {
    /// Returns a field whose value is a number from 0. Nil if the field is missing.
    func naturalField(_ name: String) throws(Problem) -> Int? {
        guard let text = headers.first(name: name) else { return nil }
        guard let number = Int(text.trimmed), number >= 0, number <= 1 << 50 else {
            throw Problem(.badRequest, "the field \(name) must be a whole number from 0, not \"\(text)\"")
        }
        return number
    }
}
