import NIOCore

/// Timing of a call. ``sent``, ``firstByte`` and ``total`` count from the start of the call. If the call sent several
/// requests, they describe the last one. The other values are durations. Nil for events that did not occur.
public struct Timing: Sendable, Equatable {
    /// When the request was written to a connection.
    public var sent: Duration?
    /// When the response head was complete.
    public var firstByte: Duration?
    /// When the call ended.
    public var total: Duration = .zero
    /// True if the connection was used by an earlier call.
    public var reusedConnection = false
    /// The connection that carried the call. Nil if the transport does not report it.
    public var connection: ConnectionRecord?

    /// The duration of the DNS lookup. Nil if the connection was not opened for this call.
    public var dns: Duration? { reusedConnection ? nil : connection?.dns }
    /// The time to open the connection, without DNS lookup and TLS. Nil if it was not opened for this call.
    public var connect: Duration? { reusedConnection ? nil : connection?.connect }
    /// The duration of the TLS handshake. Nil if the connection was not opened for this call.
    public var tls: Duration? { reusedConnection ? nil : connection?.tls }

    public init() {}
}

/// The course of a call until its response was complete.
package struct CallRecord: Sendable {
    /// How often the request was sent on a connection.
    package var attempts = 1
    package var timing = Timing()
    package var source = ResponseSource.network
    /// The redirect responses that led to the response, first to last.
    package var redirects: [VisitedURL] = []
    /// The decisions made during the call, first to last. Usually empty.
    package var decisions: [Decision] = []

    package init() {}
}

/// A complete response. Immutable; any thread may read it.
public final class Response: Sendable {
    public let head: ResponseHead
    /// The decoded body. Empty if it was delivered to a body handler. In memory it is followed by a NUL.
    public let body: ByteBuffer
    public let trailers: Headers
    /// The URL that sent the response, after redirects.
    public var location: RequestURL {
        switch requestReference {
        case .request(let request): request.url
        case .url(let url): url
        }
    }
    private let record: CallRecord
    /// The request that was sent. The task and the call share this instance, so keeping it costs nothing.
    var sent: PreparedRequest? { if case .request(let request) = requestReference { request } else { nil } }
    private let requestReference: RequestReference
    /// Accounts for the memory of the body. Nil if it is not accounted.
    package let hold: MemoryReservation?

    private enum RequestReference: Sendable {
        case request(PreparedRequest)
        indirect case url(RequestURL)
    }

    /// - Parameter url: the URL of a response that does not belong to a call. Not evaluated if the request is known.
    package init(
        head: ResponseHead, body: consuming ByteBuffer, trailers: Headers = Headers(),
        url: @autoclosure () -> RequestURL, sent: PreparedRequest? = nil
    ) {
        hold = nil
        self.head = head
        self.body = Response.terminated(body)
        self.trailers = trailers
        record = CallRecord()
        requestReference = sent.map(RequestReference.request) ?? .url(url())
    }

    /// The response of a call.
    ///
    /// - Parameter hold: accounts for the memory of the body.
    package init(
        _ head: ResponseHead, _ body: consuming ByteBuffer, trailers: Headers, _ record: CallRecord,
        sent: PreparedRequest, hold: MemoryReservation? = nil
    ) {
        self.hold = hold
        self.head = head
        self.body = Response.terminated(body)
        self.trailers = trailers
        self.record = record
        requestReference = .request(sent)
    }

    /// A copy with another body or record.
    private init(_ other: Response, body: ByteBuffer, _ record: CallRecord) {
        hold = other.hold
        head = other.head
        self.body = body
        trailers = other.trailers
        self.record = record
        requestReference = other.requestReference
    }

    /// Appends a NUL that is not part of the body.
    private static func terminated(_ body: consuming ByteBuffer) -> ByteBuffer {
        let length = body.readableBytes
        body.writeInteger(UInt8(0))
        body.moveWriterIndex(to: body.readerIndex + length)
        return body
    }

    /// A copy with these redirects.
    public func after(_ redirects: [VisitedURL]) -> Response {
        var record = record
        record.redirects = redirects
        return Response(self, body: body, record)
    }

    /// A copy with the decisions of a call and, if given, another source.
    public func explained(_ decisions: [Decision], source: ResponseSource? = nil) -> Response {
        var record = record
        record.decisions = decisions
        record.source = source ?? record.source
        return Response(self, body: body, record)
    }

    /// A copy without its body, which was delivered to a body handler.
    public var withoutBody: Response { Response(self, body: Response.terminated(ByteBuffer()), record) }

    public var status: Int { head.status }
    /// How often the request was sent on a connection.
    public var attempts: Int { record.attempts }
    public var timing: Timing { record.timing }
    public var source: ResponseSource { record.source }
    /// The redirect responses that led to this response, first to last.
    public var redirects: [VisitedURL] { record.redirects }
    /// The decisions made during the call, first to last. Usually empty.
    public var decisions: [Decision] { record.decisions }
    public var headers: Headers { head.headers }
    /// The URL that sent the response, without user info and with masked query credentials.
    public var url: String { location.redacted }

    /// The last request of the call, including the fields that the client added (Host, Cookie, ...). Nil if the
    /// response does not belong to a call.
    public var request: RequestRecord? { sent.map(RequestRecord.init) }

    /// A curl command line, for a POSIX shell, that sends the same request.
    ///
    /// - Parameter showsSecrets: if false, credentials are masked in fields, in the URL and in form or JSON bodies.
    public func curl(showsSecrets: Bool = false) -> String? {
        request.map { CurlCommand($0, showsSecrets: showsSecrets).text }
    }
}
