import NIOCore

/// When the parts of a call occurred: ``sent``, ``firstByte`` and ``total`` are moments since its start, of the last
/// request of a call that led to several; the others are lengths. Nil for what did not occur.
public struct Timing: Sendable, Equatable {
    /// The request was put on a connection.
    public var sent: Duration?
    /// The response head was complete.
    public var firstByte: Duration?
    /// The call ended.
    public var total: Duration = .zero
    /// The connection had served another call before.
    public var reusedConnection = false
    /// What carried the call; nil where the transport does not tell.
    public var connection: ConnectionRecord?

    /// How long the look-up of the host's name took, for a connection that was made for this call.
    public var dns: Duration? { reusedConnection ? nil : connection?.dns }
    /// How long the connection took to open, without look-up and TLS, where it was made for this call.
    public var connect: Duration? { reusedConnection ? nil : connection?.connect }
    /// How long the handshake of TLS took, for a connection that was made for this call.
    public var tls: Duration? { reusedConnection ? nil : connection?.tls }

    public init() {}
}

/// A complete answer. Immutable: any thread may read it.
public final class Response: Sendable {
    public let head: ResponseHead
    /// The content, decoded; empty when it went to a body handler. There is a NUL in memory behind the last byte.
    public let body: ByteBuffer
    public let trailers: Headers
    /// The URL that answered.
    public var location: RequestURL {
        switch asked {
        case .request(let request): request.url
        case .url(let url): url
        }
    }
    /// How many times the request was put on a connection.
    public let attempts: Int
    public let timing: Timing
    public let source: ResponseSource
    /// The answers that led here, first to last.
    public let redirects: [RedirectPolicy.Visit]
    /// Why the call went as it did, first to last; nothing for most.
    public let decisions: [Decision]
    /// What was sent; the same that task and call held, so that keeping it costs nothing.
    var sent: PreparedRequest? { if case .request(let request) = asked { request } else { nil } }
    private let asked: Asked
    /// Counts its memory, where somebody does.
    package let hold: MemoryHold?

    private enum Asked: Sendable {
        case request(PreparedRequest)
        indirect case url(RequestURL)
    }

    /// - Parameter url: of a response that no call has brought; that of what was sent otherwise, and then not asked.
    public convenience init(
        head: ResponseHead, body: consuming ByteBuffer, trailers: Headers = Headers(),
        url: @autoclosure () -> RequestURL,
        attempts: Int = 1, timing: Timing = Timing(), source: ResponseSource = .network,
        redirects: [RedirectPolicy.Visit] = [], decisions: [Decision] = [], sent: PreparedRequest? = nil
    ) {
        self.init(
            head: head, body: body, trailers: trailers, url: url(), attempts: attempts, timing: timing, source: source,
            redirects: redirects, decisions: decisions, sent: sent, hold: nil)
    }

    /// - Parameter hold: counts its memory.
    package init(
        head: ResponseHead, body: consuming ByteBuffer, trailers: Headers, url: @autoclosure () -> RequestURL,
        attempts: Int, timing: Timing, source: ResponseSource, redirects: [RedirectPolicy.Visit],
        decisions: [Decision], sent: PreparedRequest?, hold: MemoryHold?
    ) {
        self.hold = hold
        self.head = head
        let length = body.readableBytes
        body.writeInteger(UInt8(0))
        body.moveWriterIndex(to: body.readerIndex + length)
        self.body = body
        self.trailers = trailers
        self.attempts = attempts
        self.timing = timing
        self.source = source
        self.redirects = redirects
        self.decisions = decisions
        asked = sent.map(Asked.request) ?? .url(url())
    }

    /// The same with other redirects before it.
    public func after(_ redirects: [RedirectPolicy.Visit]) -> Response {
        Response(
            head: head, body: body, trailers: trailers, url: location, attempts: attempts, timing: timing,
            source: source, redirects: redirects, decisions: decisions, sent: sent, hold: hold)
    }

    /// The same with what was decided on the way to it, and whence it came for this call.
    public func explained(_ decisions: [Decision], source: ResponseSource? = nil) -> Response {
        Response(
            head: head, body: body, trailers: trailers, url: location, attempts: attempts, timing: timing,
            source: source ?? self.source, redirects: redirects, decisions: decisions, sent: sent, hold: hold)
    }

    /// The same where the content went to a body handler.
    public var withoutBody: Response {
        Response(
            head: head, body: ByteBuffer(), trailers: trailers, url: location, attempts: attempts, timing: timing,
            source: source, redirects: redirects, decisions: decisions, sent: sent, hold: hold)
    }

    public var status: Int { head.status }
    public var headers: Headers { head.headers }
    /// The URL that answered, without user info and with credentials in the query masked.
    public var url: String { location.redacted }

    /// What this answers: the last request of the call, with the fields that were added on its way (Host, Cookie, ...). Nil
    /// for a response that no call has brought.
    public var request: RequestRecord? { sent.map(RequestRecord.init) }

    /// The command line with which curl sends the same request, for a POSIX shell.
    ///
    /// - Parameter showsSecrets: false masks credentials, in fields, in the URL and in content that is a form or JSON.
    public func curl(showsSecrets: Bool = false) -> String? {
        request.map { CurlCommand($0, showsSecrets: showsSecrets).text }
    }
}
