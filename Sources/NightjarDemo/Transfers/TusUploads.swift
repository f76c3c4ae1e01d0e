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
        response.headers.add(name: "Tus-Extension", value: settings.extensions)
        if settings.has("checksum") { response.headers.add(name: "Tus-Checksum-Algorithm", value: "sha1,sha256,md5") }
        if let size = settings.maximumSize { response.headers.add(name: "Tus-Max-Size", value: String(size)) }
        return response
    }

    private static let fields: HTTPHeaders = ["Tus-Resumable": version]

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
        guard settings.has("creation") else { throw Problem(.notFound, "the extension creation is not available") }
        let fields = request.head.headers
        let length = try request.head.naturalField("upload-length")
        let isDeferred = fields.first(name: "upload-defer-length") == "1" && settings.has("creation-defer-length")
        guard (length == nil) == isDeferred else {
            throw Problem(.badRequest, "a creation must have Upload-Length, or Upload-Defer-Length with the value 1")
        }
        if let length, let limit = settings.maximumSize, length > limit {
            throw Problem(.payloadTooLarge, "the upload is longer than \(limit) bytes", headers: TusUploads.fields)
        }
        let metadata = (fields.first(name: "upload-metadata")).map { [(name: "Upload-Metadata", value: $0)] } ?? []
        let upload = store.create(kind: "tus", settings, length: length, metadata: metadata)
        let entry = upload.began(request)
        if let response = upload.replacement(entry, TusUploads.fields) { return UploadRejection(request, response) }
        let location = settings.location(of: upload, request)
        let hasBody = fields.first(name: "content-type") == TusUploads.type
        guard hasBody else {
            return UploadSink(upload, entry, TusUploads.fields) {
                let response = Response(.created, headers: ["Location": location])
                return response.adding(expiry(of: upload))
            }
        }
        guard settings.has("creation-with-upload") else {
            throw Problem(
                .badRequest, "the extension creation-with-upload is not available", headers: TusUploads.fields)
        }
        return UploadSink(upload, entry, TusUploads.fields, check: try check(request, settings)) {
            let response = Response(.created, headers: ["Location": location])
            return response.adding(appended(upload))
        }
    }

    // MARK: Upload

    private func head(_ request: Request) throws(Problem) -> Response {
        try checkVersion(request)
        let upload = try store.upload(request, kind: "tus")
        let entry = upload.began(request)
        var fields = TusUploads.fields
        fields.add(name: "Cache-Control", value: "no-store")
        if let response = upload.replacement(entry, fields) { return response }
        fields.add(name: "Upload-Offset", value: String(upload.reportOffset()))
        if let length = upload.length {
            fields.add(name: "Upload-Length", value: String(length))
        } else {
            fields.add(name: "Upload-Defer-Length", value: "1")
        }
        for (name, value) in upload.metadata { fields.add(name: name, value: value) }
        entry.status = 200
        return Response(.ok, headers: fields).adding(expiry(of: upload))
    }

    private func append(_ request: Request) throws(Problem) -> any BodySink {
        try checkVersion(request)
        let upload = try store.upload(request, kind: "tus")
        let entry = upload.began(request)
        if let response = upload.replacement(entry, TusUploads.fields) { return UploadRejection(request, response) }
        func reject(_ status: HTTPResponseStatus, _ detail: String) -> any BodySink {
            entry.status = Int(status.code)
            return UploadRejection(request, Problem(status, detail).response.adding(TusUploads.fields))
        }
        guard request.head.headers.first(name: "content-type") == TusUploads.type else {
            return reject(.unsupportedMediaType, "Content-Type must be \(TusUploads.type)")
        }
        guard let offset = try request.head.naturalField("upload-offset") else {
            return reject(.badRequest, "a PATCH must have Upload-Offset")
        }
        if let length = try request.head.naturalField("upload-length") {
            guard upload.length == nil || upload.length == length, length >= upload.offset else {
                return reject(.badRequest, "Upload-Length differs from the length of the upload")
            }
            upload.length = length
        }
        guard let overlap = upload.overlap(at: offset), !upload.isComplete || request.head.contentLength == 0 else {
            return reject(.conflict, "the offset of the upload is \(upload.offset), not \(offset)")
        }
        let check = try check(request, upload.settings)
        let sink = UploadSink(upload, entry, TusUploads.fields, check: check) {
            Response(.noContent).adding(appended(upload))
        }
        sink.skipped = overlap
        return sink
    }

    /// Returns the fields of a response to an append, and completes an upload that has all bytes.
    private func appended(_ upload: StoredUpload) -> HTTPHeaders {
        if upload.offset == upload.length { upload.isComplete = true }
        var fields = expiry(of: upload)
        fields.add(name: "Upload-Offset", value: String(upload.reportOffset()))
        return fields
    }

    private func expiry(of upload: StoredUpload) -> HTTPHeaders {
        guard let lifetime = upload.settings.lifetime, upload.settings.has("expiration"), !upload.isComplete else {
            return [:]
        }
        return ["Upload-Expires": RetryAfter.date(lifetime)]
    }

    private func terminate(_ request: Request) throws(Problem) -> Response {
        try checkVersion(request)
        let upload = try store.upload(request, kind: "tus")
        let entry = upload.began(request)
        guard upload.settings.has("termination") else {
            throw Problem(.methodNotAllowed, "the extension termination is not available", headers: TusUploads.fields)
        }
        if let response = upload.replacement(entry, TusUploads.fields) { return response }
        upload.isRemoved = true
        entry.status = 204
        return Response(.noContent, headers: TusUploads.fields)
    }

    /// Reads the field Upload-Checksum: the name of an algorithm and a digest in Base64.
    private func check(_ request: Request, _ settings: UploadSettings) throws(Problem) -> UploadSink.Check? {
        guard let text = request.head.headers.first(name: "upload-checksum"), settings.has("checksum") else {
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
