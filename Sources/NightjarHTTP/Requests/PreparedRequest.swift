import NIOCore
import Synchronization

/// A ``Request`` that is ready to be sent: validated, merged with the client's defaults and serialized. Immutable.
public final class PreparedRequest: Sendable {
    public let method: Method
    public let url: RequestURL
    public let body: RequestBody
    /// True if the body is compressed while it is sent. False for a body in memory, which would be compressed in
    /// advance.
    public let isCompressed: Bool
    /// True if the head has `Expect: 100-continue`. ``ExpectContinue`` then decides when the body is sent.
    public let expectsContinue: Bool
    /// The request line, the field lines and the empty line, ready to be written.
    public let wireHead: ByteBuffer
    /// A hash of the head. Requests whose heads are equal byte by byte have the same hash.
    public let fingerprint: UInt64
    /// Names of fields and query items that carry credentials: the names in the client's configuration, and those of
    /// credentials that the client has added to the request.
    package let sensitive: [String]
    /// The cookies of the call, as `name=value`, without the cookies of the jar. Empty if the caller has set the Cookie
    /// field. See ``CookieField``.
    public let ownCookies: [String]
    /// The text of ``Request/cachePartition``.
    public let cachePartition: String?
    /// The client's options for decoding the response. Nil if there are none.
    let decoding: SharedDecoding?
    /// Values that the cache has computed for this request.
    let facts = AtomicLazyReference<CacheFacts>()

    public var origin: Origin { url.origin }
    public var framing: BodyFraming { body.framing(isCoded: isCompressed) }

    /// The request line and the field lines without the final empty line.
    public var head: ByteBuffer {
        var head = wireHead
        head.moveWriterIndex(to: head.writerIndex - 2)
        return head
    }

    public convenience init(
        _ request: Request, base: RequestURL?, defaults: Headers, userAgent: String?
    ) throws(NightjarError) {
        try self.init(request, RequestTemplate(base: base, defaults: defaults, userAgent: userAgent))
    }

    /// Validates and serializes a request.
    ///
    /// - Parameter known: the probable origin of an absolute target. If the target begins with this origin, the origin
    ///   is not parsed again.
    /// - Throws: `invalid_url` or `invalid_request`, with the reason.
    public init(
        _ request: borrowing Request, _ template: RequestTemplate, known: Origin? = nil
    ) throws(NightjarError) {
        method = request.method
        body = request.body
        isCompressed = request.compresses && request.body.isStreamedFromCaller
        try PreparedRequest.check(request)
        let framing = request.body.framing(isCoded: isCompressed)
        expectsContinue =
            request.body.isPresent && framing != .length(0)
            && request.expectsContinue ?? ExpectContinue.isWorthwhile(for: request.body)

        let method = request.method.name
        var head = ByteBufferAllocator().buffer(
            capacity: PreparedRequest.capacity(request, template, method: method.utf8.count))
        head.writeString(method)
        head.writeInteger(UInt8(ascii: " "))
        let targetStart = head.writerIndex
        let resolution = try PreparedRequest.writeTarget(request, template, known, into: &head)
        let target = head.getString(at: targetStart, length: head.writerIndex - targetStart) ?? ""
        url = RequestURL(
            origin: resolution.origin, target: target, userInfo: resolution.userInfo, sensitive: template.sensitive)
        head.writeStaticString(" HTTP/1.1\r\n")

        let isForeign = url.origin != template.base?.origin
        // The template's fields already take the user info of the base URL into account.
        let userInfo = resolution.userInfo === template.base?.userInfo ? nil : resolution.userInfo
        let hasCookieField = try PreparedRequest.writeFields(
            request, template, foreign: isForeign ? url.origin : nil, userInfo, into: &head)
        ownCookies = hasCookieField ? [] : request.cookies
        try HeadWriter.writeFraming(
            framing, method: request.method, expectsContinue: expectsContinue, into: &head)
        head.writeStaticString("\r\n")
        wireHead = head
        fingerprint = Fingerprint.of(head)
        sensitive = template.sensitive
        cachePartition = request.cachePartition
        decoding = template.decoding
    }

    /// Returns a copy with one more field line. Does not check whether the name is reserved or already present.
    ///
    /// - Throws: `invalid_request` if the name or value is invalid.
    public func adding(_ name: String, _ value: String) throws(NightjarError) -> PreparedRequest {
        adding(try FieldLine(name, value))
    }

    public func adding(_ line: FieldLine) -> PreparedRequest {
        var longer = ByteBufferAllocator().buffer(capacity: wireHead.readableBytes + line.bytes.readableBytes)
        longer.writeImmutableBuffer(head)
        longer.writeImmutableBuffer(line.bytes)
        longer.writeStaticString("\r\n")
        return PreparedRequest(values, wireHead: longer)
    }

    init(_ values: Values, wireHead: ByteBuffer) {
        method = values.method
        url = values.url
        body = values.body
        isCompressed = values.isCompressed
        expectsContinue = values.expectsContinue
        sensitive = values.sensitive
        decoding = values.decoding
        ownCookies = values.ownCookies
        cachePartition = values.cachePartition
        self.wireHead = wireHead
        fingerprint = Fingerprint.of(wireHead)
    }

    /// The properties of a request that are stored in addition to its head.
    struct Values {
        var method: Method
        var url: RequestURL
        var body: RequestBody
        var isCompressed: Bool
        var expectsContinue: Bool
        var sensitive: [String]
        var ownCookies: [String]
        var cachePartition: String?
        var decoding: SharedDecoding?
    }

    var values: Values {
        Values(
            method: method, url: url, body: body, isCompressed: isCompressed, expectsContinue: expectsContinue,
            sensitive: sensitive, ownCookies: ownCookies, cachePartition: cachePartition, decoding: decoding)
    }

    /// Returns true if both requests are equal, byte by byte, and have the same cache partition. Neither request may have a body.
    public func isSame(as other: PreparedRequest) -> Bool {
        self === other
            || fingerprint == other.fingerprint && wireHead == other.wireHead && origin == other.origin
                && ownCookies == other.ownCookies && cachePartition.isExactly(other.cachePartition)
    }

    // MARK: Parts of the head

    private static func check(_ request: Request) throws(NightjarError) {
        if request.method == .connect {
            throw NightjarError(
                .invalidRequest,
                "method CONNECT cannot be used: the client creates tunnels itself; configure a proxy instead")
        }
        if request.method == .trace {
            guard case .none = request.body else {
                throw NightjarError(
                    .invalidRequest, "a TRACE request cannot have a body (RFC 9110 section 9.3.8); remove the body")
            }
        }
        if request.method == .get || request.method == .head, !request.allowsBodyOnGet, request.body.length != 0 {
            throw NightjarError(
                .invalidRequest,
                "\(request.method) has a body, which servers and caches may ignore (RFC 9110 section 9.3.1); "
                    + "use POST, use the query, or set allow_body_on_get")
        }
    }

    private static func capacity(_ request: Request, _ template: RequestTemplate, method: Int) -> Int {
        let target = (template.base?.target.utf8.count ?? 0) + request.target.utf8.count
        let implied = request.impliedType.map { $0.line.utf8CodeUnitCount } ?? 0
        let fields = request.headers.byteCount + 4 * request.headers.count + implied
        return method + target + template.hostLine.readableBytes + template.fieldLines.readableBytes + fields + 64
    }

    private static func writeTarget(
        _ request: borrowing Request, _ template: RequestTemplate, _ known: Origin?, into head: inout ByteBuffer
    ) throws(NightjarError) -> URLResolution {
        if let url = request.resolved {
            head.writeString(url.target)
            return URLResolution(of: url)
        }
        let query = request.query.all
        var target = request.target
        if !request.parameters.isEmpty {
            target = try URITemplate(target).expandStrictly(request.parameters.all)
        }
        return try target.withRawBytes { bytes throws(NightjarError) in
            guard let resolution = try URLResolution(bytes, base: template.base, known: known)
            else {
                throw NightjarError(
                    .invalidURL,
                    "the target is relative, but there is no base URL; set base_url, or use an absolute URL")
            }
            try RequestTarget.write(
                UnsafeRawBufferPointer(rebasing: bytes[resolution.rest...]), behind: resolution.basePath, query: query,
                into: &head)
            return resolution
        }
    }
}

/// A field line that is validated once and can be added to any number of requests.
public struct FieldLine: Sendable {
    let bytes: ByteBuffer

    /// Validates and serializes a field.
    ///
    /// - Throws: `invalid_request` if the name or value is invalid.
    public init(_ name: String, _ value: String) throws(NightjarError) {
        guard FieldSyntax.isToken(name.utf8), FieldSyntax.isValue(value.utf8) else {
            throw NightjarError(
                .invalidRequest, "the name or value of header \(quoted(name)) contains a character that is not allowed")
        }
        bytes = ByteBuffer(string: "\(name): \(value)\r\n")
    }
}
