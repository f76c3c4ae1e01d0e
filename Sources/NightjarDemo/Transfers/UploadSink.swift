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
        entry.fault = fault.name
        interruption = fault.kind == .close ? .close : nil
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
        let isTooLarge = bytes.readableBytes > limit - upload.offset - held.readableBytes
        let isTooMuch = check != nil && bytes.readableBytes > UploadSink.maximumHeld - held.readableBytes
        guard !isTooLarge, !isTooMuch else {
            interruption = .respond(
                record(Problem(.payloadTooLarge, "the upload is longer than \(limit) bytes").response))
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
            case .early: .respond(record(Problem(.serviceUnavailable, "this response was requested").response))
            case .reject: .respond(record(Problem(.payloadTooLarge, "this response was requested").response))
            default: .close
            }
    }

    // MARK: End

    func finish(trailers: HTTPHeaders?) -> Response {
        // The body had no bytes, so that the end was not reported before.
        if case .respond(let response) = interruption { return response }
        guard interruption == nil else { return .dropped }
        if let check {
            guard let hash = RunningHash(check.function) else {
                return record(Problem(.internalServerError, "there is not enough memory").response)
            }
            held.withUnsafeReadableBytes { hash.update($0) }
            guard hash.finish() == check.digest else {
                let status = HTTPResponseStatus.custom(code: 460, reasonPhrase: "Checksum Mismatch")
                return record(Problem(status, "the body does not have the digest of the request").response)
            }
            upload.append(held)
        }
        let response = record(complete())
        return fault.kind == .lost ? .dropped : response
    }

    /// Adds the fields of all responses, and records the status.
    private func record(_ response: Response) -> Response {
        entry.status = Int(response.status.code)
        return response.adding(headers)
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

extension StoredUpload {
    /// Returns the response that replaces the processing of the latest request, if its fault requires one.
    func replacement(_ entry: Entry, _ headers: HTTPHeaders) -> Response? {
        entry.fault = fault.name
        var response: Response
        switch fault.kind {
        case .close: return .dropped
        case .status:
            let status = HTTPResponseStatus(statusCode: min(max(fault.number ?? 500, 200), 599))
            response = Problem(status, "this response was requested").response
        case .conflict:
            response = Problem(.conflict, "this response was requested").response
            response.headers.add(name: "Upload-Offset", value: String(offset))
        case .expire:
            isRemoved = true
            response = Problem(settings.isGone ? .gone : .notFound, "the upload has expired").response
        default: return nil
        }
        entry.status = Int(response.status.code)
        return response.adding(headers)
    }
}

/// Responds without processing the body of the request.
final class UploadRejection: BodySink {
    private let response: Response
    let interruption: BodyInterruption?

    /// The maximum number of bytes that are read to keep the connection open.
    private static let readLimit = 64 * 1024

    init(_ request: Request, _ response: Response) {
        self.response = response
        let length = request.head.contentLength
        let isShort = !request.head.expectsContinue && length.map { $0 <= UploadRejection.readLimit } ?? false
        interruption = isShort || response.isDropped ? nil : .respond(response)
    }

    func receive(_ bytes: ByteBuffer) -> TimeAmount { .zero }

    func finish(trailers: HTTPHeaders?) -> Response { response }
}
