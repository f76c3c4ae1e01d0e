import NIOCore

/// The rules of an upload protocol: its requests, and the meaning of the responses.
package protocol UploadRules: Sendable {
    /// Whether a failed creation can be repeated although the server may have processed it.
    func canRepeatCreation(_ facts: UploadFacts) -> Bool
    func creation(_ facts: UploadFacts) -> UploadRequest
    /// Requests the number of bytes that the server has. Nil: no request is necessary.
    func offsetRequest(_ facts: UploadFacts) -> UploadRequest?
    /// Sends a range of the content.
    ///
    /// - Parameter isLast: Whether the content ends with the range.
    func append(_ range: Range<Int>, isLast: Bool, _ facts: UploadFacts) -> UploadRequest
    /// Completes an upload that has all bytes. Nil: it is complete without a further request.
    func completion(_ facts: UploadFacts) -> UploadRequest?
    /// Checks whether a completion was processed whose response was lost. Nil: the completion can be repeated.
    func check(_ facts: UploadFacts) -> UploadRequest?
    /// Removes the upload. Nil: it cannot be removed.
    func termination(_ facts: UploadFacts) -> UploadRequest?

    /// Handles an interim response (1xx).
    mutating func interim(_ status: Int, _ headers: Headers, from url: RequestURL, _ facts: UploadFacts)
        throws(NightjarError) -> UploadProgress?
    /// Handles a response with an expected status.
    mutating func responded(_ request: UploadRequest, _ response: UploadResponse, _ facts: UploadFacts)
        throws(NightjarError) -> UploadOutcome
    /// Handles a response with an unexpected status. Nil: the status has no meaning in the protocol.
    mutating func rejected(_ request: UploadRequest, _ status: Int, _ headers: Headers, _ facts: UploadFacts)
        throws(NightjarError) -> UploadOutcome?
}

extension UploadRules {
    package func canRepeatCreation(_ facts: UploadFacts) -> Bool { true }
    package func offsetRequest(_ facts: UploadFacts) -> UploadRequest? { nil }
    package func completion(_ facts: UploadFacts) -> UploadRequest? { nil }
    package func check(_ facts: UploadFacts) -> UploadRequest? { nil }
    package func termination(_ facts: UploadFacts) -> UploadRequest? { nil }
    package mutating func interim(_ status: Int, _ headers: Headers, from url: RequestURL, _ facts: UploadFacts)
        throws(NightjarError) -> UploadProgress?
    { nil }
    package mutating func rejected(_ request: UploadRequest, _ status: Int, _ headers: Headers, _ facts: UploadFacts)
        throws(NightjarError) -> UploadOutcome?
    { nil }
}

/// The facts about an upload in progress.
package struct UploadFacts: Sendable {
    /// The method of the caller's request.
    package var method: Method
    /// The URL of the caller's request. Nil in tests.
    package var base: RequestURL?
    /// The URL of the upload. Nil before the creation.
    package var url: RequestURL?
    /// The number of bytes that the server has.
    package var offset = 0
    /// The length of the content. Nil while it is not known.
    package var total: Int?
    /// Whether the length was not known at the creation.
    package var isLengthDeferred = false
    package var settings: UploadSettings
    /// The media type of the content.
    package var contentType: String
    /// The digest of the whole content. Nil if it is not known.
    package var digest: Checksum?
    /// The digest of the range that is appended.
    package var rangeDigest: Checksum?
    /// The limits of the server for a request, in bytes.
    package var maximumAppend: Int?
    package var minimumAppend: Int?
    /// The time when the server removes the unfinished upload, in seconds since 1970. Nil if it is not known.
    package var expires: Int64?
    /// The time when the last response has arrived, in seconds since 1970.
    package var now: Int64 = 0
    /// The identifier of a multipart upload of S3.
    package var id: String?
    package var partSize: Int?

    package init(method: Method, _ settings: UploadSettings, contentType: String) {
        (self.method, self.settings, self.contentType) = (method, settings, contentType)
    }

    /// The end of a range that begins at the offset and has as many bytes as one request may have.
    var rangeEnd: Int {
        // The parts of S3 have their size from the creation on.
        let chunkSize = max(settings.chunkSize ?? .max, minimumAppend ?? 1)
        let size = partSize ?? max(min(chunkSize, maximumAppend ?? .max), 1)
        let (end, isTooMuch) = offset.addingReportingOverflow(size)
        return min(isTooMuch ? .max : end, total ?? .max)
    }
}

/// A request of an upload.
package struct UploadRequest: Sendable {
    package enum Step: Sendable, Equatable {
        case creation, offset
        case append(Range<Int>)
        case completion
        /// Checks whether a completion was processed whose response was lost.
        case check
        case termination
    }

    package enum Body: Sendable, Equatable {
        case none
        /// A range of the content. `Int.max`: up to its end.
        case content(Range<Int>)
        case text(String)
    }

    package var step: Step
    package var method: Method
    /// Nil: the URL of the caller's request.
    package var url: RequestURL?
    /// Items that are appended to the query.
    package var query: [(name: String, value: String)] = []
    package var headers: [(name: String, value: String)] = []
    package var body = Body.none
    /// The expected statuses.
    package var statuses = StatusRange(200, 299)

    package init(_ step: Step, _ method: Method, _ url: RequestURL? = nil, _ headers: [(String, String)] = []) {
        (self.step, self.method, self.url) = (step, method, url)
        self.headers = headers.map { (name: $0.0, value: $0.1) }
    }

    /// The range of the content that the request sends.
    package var range: Range<Int>? {
        if case .content(let range) = body { range } else { nil }
    }
}

/// A response to a request of an upload.
package struct UploadResponse: Sendable {
    package var status: Int
    package var headers: Headers
    package var body: ByteBuffer
    /// The URL that was requested, after redirects.
    package var url: RequestURL

    package init(status: Int, _ headers: Headers, _ body: ByteBuffer = ByteBuffer(), url: RequestURL) {
        (self.status, self.headers, self.body, self.url) = (status, headers, body, url)
    }

    /// Returns the URL in the Location field. Nil if there is none.
    ///
    /// - Throws: `protocol` if the URL is invalid, or if it is not protected by TLS and the present one is.
    package func location() throws(NightjarError) -> RequestURL? { try UploadLocation.read(headers, base: url) }
}

enum UploadLocation {
    static func read(_ headers: Headers, base: RequestURL) throws(NightjarError) -> RequestURL? {
        guard let index = headers.firstIndex(of: "location") else { return nil }
        let subject = Location.Subject(problem: "the upload cannot be continued", name: "its Location")
        let found = try headers.withBytes(at: index) { (_, value) -> Result<RequestURL, NightjarError> in
            do throws(NightjarError) {
                return .success(try Location(value, base: base, as: subject).url)
            } catch {
                return .failure(error)
            }
        }.get()
        guard found.origin.isTLS || !base.origin.isTLS else {
            throw NightjarError(
                .protocol, "the upload cannot be continued: its Location is an http URL, and the request used https",
                phase: .receive)
        }
        return found
    }
}

/// The meaning of a response for the upload.
package enum UploadOutcome: Sendable {
    /// The upload exists, and the server has this number of bytes.
    case accepted(UploadProgress)
    /// The number of bytes that the server has must be requested.
    case unknown
    /// The next page of the list of parts must be requested.
    case partial
    case complete
    /// The server does not have the upload any more.
    case lost
}

/// The progress of an upload that a response reports.
package struct UploadProgress: Sendable {
    /// The URL of the upload, if the response has it.
    package var url: RequestURL?
    /// The number of bytes that the server has. Nil: unchanged.
    package var offset: Int?
    package var id: String?
    package var partSize: Int?
    package var maximumAppend: Int?
    package var minimumAppend: Int?
    package var maximumSize: Int?
    /// The time when the server removes the unfinished upload, in seconds since 1970. Nil: unchanged.
    package var expires: Int64?
    /// Whether the server has the length of the content. Nil: unchanged.
    package var hasLength: Bool?

    package init(url: RequestURL? = nil, offset: Int? = nil) { (self.url, self.offset) = (url, offset) }
}

extension Headers {
    /// Returns a field whose value is a whole number from 0. Nil if the field is missing.
    ///
    /// - Throws: `protocol` for another value.
    func count(_ name: String) throws(NightjarError) -> Int? {
        guard let index = firstIndex(of: name) else { return nil }
        guard let number = withBytes(at: index, { ByteRange.number(EntityTag.trimmed($1)) }) else {
            throw NightjarError(
                .protocol, "the field \(name) of the response must be a whole number, got \(quoted(self[name] ?? ""))",
                phase: .receive)
        }
        return number
    }
}
