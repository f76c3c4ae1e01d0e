import NIOCore

/// The timing of a call. ``sent``, ``firstByte`` and ``total`` are measured from the start of the call.
///
/// If the call had several exchanges, all values except ``total`` describe the last exchange. A value is nil if its
/// event did not occur.
public struct Timing: Sendable, Equatable {
    /// The time at which the client began to send the request on a connection.
    public var sent: Duration?
    /// The time at which the response head was complete.
    public var firstByte: Duration?
    /// The time at which the response was complete.
    public var total: Duration = .zero
    /// True if an earlier exchange used the connection.
    public var reusedConnection = false
    /// The connection that carried the exchange. Nil if the transport does not report the connection.
    public var connection: ConnectionRecord?
    /// The identifier of the HTTP/2 stream. Nil for HTTP/1.1. RFC 9113 section 5.1.1.
    public var stream: Int32?

    /// The duration of the DNS lookup. Nil if the connection was reused, or if there was no lookup.
    public var dns: Duration? { reusedConnection ? nil : connection?.dns }
    /// The time to open the connection, without DNS lookup and TLS. Nil if the connection was reused.
    public var connect: Duration? { reusedConnection ? nil : connection?.connect }
    /// The duration of the TLS handshake. Nil if the connection was reused, or without TLS.
    public var tls: Duration? { reusedConnection ? nil : connection?.tls }

    public init() {}

    /// The connection in one line: `HTTP/2, stream 5 of a reused connection to 127.0.0.1:443`. Nil if there is none.
    public var connectionSummary: String? {
        guard let connection else { return nil }
        let use = stream.map { ", stream \($0) of" } ?? " on"
        let peer = connection.peer.map { " to \($0)" } ?? ""
        return "\(connection.version)\(use) a \(reusedConnection ? "reused" : "new") connection\(peer)"
    }
}

/// The values of a ``Response`` that describe its call.
package struct CallRecord: Sendable {
    /// The number of exchanges that were started for the call, including redirects.
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
    /// The status line and header fields of a response.
    public typealias Head = ResponseHead
    /// The source of a response.
    public typealias Source = ResponseSource
    /// The timing of a call.
    public typealias Timing = NightjarHTTP.Timing
    /// The connection that carried an exchange.
    public typealias Connection = ConnectionRecord
    /// The TLS connection on which a response arrived.
    public typealias TLS = TLSDetails
    /// A response that redirected the call.
    public typealias Redirect = VisitedURL
    /// A decision that the client made during a call.
    public typealias Decision = NightjarHTTP.Decision

    public let head: ResponseHead
    /// The decoded body. Empty if the body was delivered to a body handler. In memory, a NUL follows the body.
    public let body: ByteBuffer
    public let trailers: Headers
    /// The URL of the last request, after redirects.
    public var location: RequestURL {
        switch requestReference {
        case .request(let request): request.url
        case .url(let url): url
        }
    }
    private let record: CallRecord
    /// The TLS connection on which the response arrived. Nil without TLS, and for a response that did not arrive on a
    /// connection of this call.
    public var tls: TLSDetails? { timing.connection?.tlsDetails }
    /// The request that was sent. Nil if the response does not belong to a call.
    var sent: PreparedRequest? { if case .request(let request) = requestReference { request } else { nil } }
    private let requestReference: RequestReference
    /// Counts the memory of the body against a limit. Nil if there is no limit.
    package let reservation: MemoryReservation?

    private enum RequestReference: Sendable {
        case request(PreparedRequest)
        indirect case url(RequestURL)
    }

    /// Creates a response.
    ///
    /// - Parameters:
    ///   - url: the URL of a response that does not belong to a call. Not evaluated if `sent` is given.
    ///   - sent: the request, if it is known.
    package init(
        head: ResponseHead, body: consuming ByteBuffer, trailers: Headers = Headers(),
        url: @autoclosure () -> RequestURL, sent: PreparedRequest? = nil
    ) {
        reservation = nil
        self.head = head
        self.body = Response.terminated(body)
        self.trailers = trailers
        record = CallRecord()
        requestReference = sent.map(RequestReference.request) ?? .url(url())
    }

    /// Creates the response of a call.
    ///
    /// - Parameter reservation: counts the memory of the body.
    package init(
        _ head: ResponseHead, _ body: consuming ByteBuffer, trailers: Headers, _ record: CallRecord,
        sent: PreparedRequest, reservation: MemoryReservation? = nil
    ) {
        self.reservation = reservation
        self.head = head
        self.body = Response.terminated(body)
        self.trailers = trailers
        self.record = record
        requestReference = .request(sent)
    }

    /// Creates a copy with another body and record.
    private init(_ other: Response, body: ByteBuffer, _ record: CallRecord) {
        reservation = other.reservation
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

    /// Returns a copy with other ``redirects``.
    public func after(_ redirects: [VisitedURL]) -> Response {
        var record = record
        record.redirects = redirects
        return Response(self, body: body, record)
    }

    /// Returns a copy with other ``decisions`` and, if `source` is not nil, another ``source``.
    public func explained(_ decisions: [Decision], source: ResponseSource? = nil) -> Response {
        var record = record
        record.decisions = decisions
        record.source = source ?? record.source
        return Response(self, body: body, record)
    }

    /// A copy with an empty body.
    public var withoutBody: Response { with(body: ByteBuffer()) }

    /// Returns a copy with another body.
    public func with(body: ByteBuffer) -> Response { Response(self, body: Response.terminated(body), record) }

    public var status: Int { head.status }
    /// The number of exchanges that were started for the call, including redirects.
    public var attempts: Int { record.attempts }
    public var timing: Timing { record.timing }
    public var source: ResponseSource { record.source }
    /// The redirect responses that led to this response, first to last.
    public var redirects: [VisitedURL] { record.redirects }
    /// The decisions made during the call, first to last. Usually empty.
    public var decisions: [Decision] { record.decisions }
    /// The decisions and the connection as text, one per line.
    public var explanation: String {
        [decisions.explanation, timing.connectionSummary].compactMap { $0 }.joined(separator: "\n")
    }
    public var headers: Headers { head.headers }
    /// The URL of the last request, without user info and with masked credentials.
    public var url: String { location.redacted }

    /// The last request of the call, with the fields that the client added (Host, Cookie, ...). Nil if the response
    /// does not belong to a call.
    public var request: RequestRecord? { sent.map(RequestRecord.init) }

    /// Returns a curl command line, for a POSIX shell, that sends the same request. Nil if the response does not belong
    /// to a call.
    ///
    /// - Parameter showsSecrets: if false, credentials in the fields, the URL and the body are masked.
    public func curl(showsSecrets: Bool = false) -> String? {
        request.map { CurlCommand($0, showsSecrets: showsSecrets).text }
    }
}
