import NIOCore
import NIOHTTP1
import NightjarCrypto

/// Appends the body of a request to an upload, with the faults of the upload.
final class UploadSink: BodySink {
    /// A digest that the body must have.
    struct Check {
        let function: HashFunction
        let digest: [UInt8]
    }

    private let upload: StoredUpload
    private let entry: StoredUpload.Entry
    private let generation: Int
    private let fault: UploadFault
    private let headers: HTTPHeaders
    private let check: Check?
    private let complete: () -> Response
    /// The first interim response, without an offset.
    var firstInterim: HTTPResponseHead?
    /// Whether the offset is reported in interim responses.
    var reportsProgress = false
    /// The bytes that the upload already has, which are discarded.
    var skipped = 0
    private var received = 0
    private var reported = 0
    /// The body of a request with a digest. It is appended when the digest is right.
    private var held = ByteBuffer()
    private var hasStalled = false
    private(set) var interruption: BodyInterruption?

    /// The largest body with a digest, in bytes.
    private static let maximumHeld = 64 << 20

    /// - Parameters:
    ///   - headers: The fields of all responses.
    ///   - complete: Returns the response when the body was appended.
    init(
        _ upload: StoredUpload, _ entry: StoredUpload.Entry, _ headers: HTTPHeaders, check: Check? = nil,
        complete: @escaping () -> Response
    ) {
        (self.upload, self.entry, self.headers, self.check, self.complete) = (upload, entry, headers, check, complete)
        generation = upload.generation
        fault = upload.fault
        stopIfDue()
    }

    func interimHeads() -> [HTTPResponseHead] {
        if let first = firstInterim.take() { return [first] }
        guard reportsProgress, let step = upload.settings.progress, received - reported >= step else { return [] }
        reported = received
        var head = UploadSink.interim
        head.headers.add(name: "Upload-Offset", value: String(upload.offset))
        return [head]
    }

    /// A 104 response of draft-ietf-httpbis-resumable-upload.
    static var interim: HTTPResponseHead {
        HTTPResponseHead(
            version: .http1_1, status: .custom(code: 104, reasonPhrase: "Upload Resumption Supported"),
            headers: [ResumableUploads.interopField: ResumableUploads.interopVersion])
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount {
        guard interruption == nil else { return .zero }
        // A later request of the client ends this one.
        guard generation == upload.generation else {
            interruption = .close
            return .zero
        }
        var bytes = bytes
        if let limit = stopPosition, limit - received < bytes.readableBytes {
            bytes = bytes.readSlice(length: limit - received) ?? ByteBuffer()
        }
        store(bytes)
        stopIfDue()
        return pause(bytes.readableBytes)
    }

    private func pause(_ count: Int) -> TimeAmount {
        if fault.kind == .stall, !hasStalled, received >= fault.number ?? 0 {
            hasStalled = true
            return upload.settings.stallTime
        }
        return upload.settings.rate.map { TimeAmount(seconds: Double(count) / Double($0)) } ?? .zero
    }

    private func store(_ bytes: ByteBuffer) {
        var bytes = bytes
        if fault.kind == .damage, received == 0, let byte = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) {
            bytes.setInteger(byte ^ 0xFF, at: bytes.readerIndex)
        }
        received += bytes.readableBytes
        entry.bodyBytes = received
        let known = min(skipped, bytes.readableBytes)
        skipped -= known
        bytes.moveReaderIndex(forwardBy: known)
        let limit = upload.length ?? upload.settings.maximumSize ?? Int.max
        guard bytes.readableBytes <= limit - upload.offset - held.readableBytes else {
            interruption = .respond(rejection(.payloadTooLarge, "the upload is longer than \(limit) bytes"))
            return
        }
        guard check == nil || bytes.readableBytes <= UploadSink.maximumHeld - held.readableBytes else {
            let reason = "a body with a digest must have at most \(UploadSink.maximumHeld) bytes"
            interruption = .respond(rejection(.payloadTooLarge, reason))
            return
        }
        if check == nil { upload.append(bytes) } else { held.writeImmutableBuffer(bytes) }
    }

    // MARK: Faults

    /// The number of body bytes after which the fault ends the request.
    private var stopPosition: Int? {
        switch fault.kind {
        case .cut, .reset, .early, .reject: fault.number ?? 0
        default: nil
        }
    }

    private func stopIfDue() {
        guard interruption == nil, let position = stopPosition, received >= position else { return }
        interruption =
            switch fault.kind {
            case .reset: .reset
            case .early: .respond(record(Problem.requested(.serviceUnavailable).response))
            case .reject: .respond(record(Problem.requested(.payloadTooLarge).response))
            default: .close
            }
    }

    // MARK: End

    func finish(trailers: HTTPHeaders?) -> Response {
        // A later request of the client ends this one.
        guard interruption == nil, generation == upload.generation else { return .dropped }
        if let check {
            guard let hash = RunningHash(check.function) else {
                return rejection(.internalServerError, "there is not enough memory")
            }
            held.withUnsafeReadableBytes { hash.update($0) }
            guard hash.finish() == check.digest else {
                let status = HTTPResponseStatus.custom(code: 460, reasonPhrase: "Checksum Mismatch")
                return rejection(status, "the body does not have the digest of the request")
            }
            upload.append(held)
        }
        let response = record(complete())
        return fault.kind == .lost ? .dropped : response
    }

    /// Adds the fields of all responses, and records the status.
    private func record(_ response: Response) -> Response { entry.record(response).adding(headers) }

    private func rejection(_ status: HTTPResponseStatus, _ reason: String) -> Response {
        record(Problem(status, reason).response)
    }
}

extension Response {
    /// Returns the response with further fields. A field that the response has is not changed.
    func adding(_ fields: HTTPHeaders) -> Response {
        var response = self
        for (name, value) in fields where !response.headers.contains(name: name) {
            response.headers.add(name: name, value: value)
        }
        return response
    }
}

/// Responds without processing the body of the request.
private final class UploadRejection: BodySink {
    let continueResponse: ContinueResponse
    private let response: Response

    init(_ response: Response) {
        self.response = response
        continueResponse = .refused(response)
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount { .zero }

    func finish(trailers: HTTPHeaders?) -> Response { response }
}

extension StoredUpload {
    /// Responds to a request without a body.
    ///
    /// - Parameters:
    ///   - headers: the fields of all responses.
    ///   - process: not called if the fault of the request replaces the response.
    func respond(to request: Request, _ headers: HTTPHeaders, _ process: () -> Response) -> Response {
        let entry = began(request)
        return entry.record(faultResponse() ?? process()).adding(headers)
    }

    /// Receives a request with a body.
    ///
    /// - Parameters:
    ///   - headers: the fields of the responses that replace the processing of the body.
    ///   - open: returns the receiver of the body. Not called if the fault of the request replaces the response.
    func receive(
        _ request: Request, _ headers: HTTPHeaders, _ open: (Entry) throws(Problem) -> UploadSink
    ) -> any BodySink {
        let entry = began(request)
        if let response = faultResponse() { return UploadRejection(entry.record(response).adding(headers)) }
        do throws(Problem) {
            return try open(entry)
        } catch {
            return UploadRejection(entry.record(error.response).adding(headers))
        }
    }

    /// Returns the response that replaces the processing of the latest request, if its fault requires one.
    private func faultResponse() -> Response? {
        switch fault.kind {
        case .close:
            return .dropped
        case .status:
            return Problem.requested(HTTPResponseStatus(fault: fault.number)).response
        case .conflict:
            return Problem.requested(.conflict, headers: ["Upload-Offset": String(offset)]).response
        case .expire:
            isRemoved = true
            return Problem(settings.isGone ? .gone : .notFound, "the upload has expired").response
        default:
            return nil
        }
    }
}

extension StoredUpload.Entry {
    /// Records the status of the response. A response that is not sent has the status 0.
    fileprivate func record(_ response: Response) -> Response {
        status = response.isDropped ? 0 : Int(response.status.code)
        return response
    }
}
