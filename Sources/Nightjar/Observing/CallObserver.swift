import NIOCore
import NightjarHTTP

/// Sees the calls of a client as they go: for traces, archives, metrics. A client without one pays nothing for it.
///
/// What it sees is not redacted; ``RequestRecord``, ``CurlCommand`` and ``HARWriter`` are where secrets are masked.
public final class CallObserver: Sendable {
    /// Where ``observe`` runs; nil: on the client's loop thread, where it must not block.
    let queue: CompletionQueue?
    let observe: @Sendable (CallEvent) -> Void

    /// - Parameter queue: runs `observe` inside `CompletionQueue.poll`, before what the call's own handlers are told of the
    ///   same moment if they run there too.
    public init(queue: CompletionQueue? = nil, observe: @escaping @Sendable (CallEvent) -> Void) {
        self.queue = queue
        self.observe = observe
    }
}

/// What happens to a call: it begins, has any number of exchanges, and ends; each call does once.
public enum CallEvent: Sendable {
    case began(CallReport)
    /// A request was answered, or was not: one for each hop of a redirect and for each attempt.
    case exchanged(ExchangeReport)
    case ended(CallReport, Result<Response, NightjarError>)
}

/// A call as it began.
public final class CallReport: Sendable {
    /// Tells the calls of a process apart.
    public let number: Int
    /// Seconds since 1970.
    public let started: Double
    private let asked: PreparedRequest

    init(number: Int, started: Double, request: PreparedRequest) {
        self.number = number
        self.started = started
        asked = request
    }

    /// What the caller asked for.
    public var request: RequestRecord { RequestRecord(asked) }
}

/// One request and what came of it.
public final class ExchangeReport: Sendable {
    /// Lengths of time; nil for what did not occur or is not known.
    public struct Phases: Sendable, Equatable {
        /// Waiting for a connection, beyond the time that it took to make it.
        public var blocked = Duration.zero
        public var dns: Duration?
        /// Opening the connection, without look-up and TLS.
        public var connect: Duration?
        public var tls: Duration?
        /// From when the request was put on the connection until the head of the answer was there, or the end came.
        public var wait: Duration?
        /// From then to the end.
        public var receive: Duration?

        public var total: Duration {
            [dns, connect, tls, wait, receive].reduce(blocked) { $0 + ($1 ?? .zero) }
        }
        /// Until the head of the answer was there.
        public var firstByte: Duration? { receive.map { total - $0 } }
    }

    public let call: CallReport
    /// Which of the call's exchanges this is, from 1.
    public let attempt: Int
    /// Seconds since 1970.
    public let started: Double
    private let sent: PreparedRequest
    /// Nil when no answer came.
    public let head: ResponseHead?
    /// The content, decoded; nil where nobody kept it: it was streamed, or not read to its end.
    public let body: ByteBuffer?
    /// Bytes of content on the wire, still coded.
    public let receivedBytes: Int
    public let phases: Phases
    public let connection: ConnectionRecord?
    public let isReused: Bool
    /// Why the answer is missing or incomplete, or was not accepted. An unexpected status is none: it ends the call.
    public let error: NightjarError?

    init(
        call: CallReport, attempt: Int, started: Double, sent: PreparedRequest, head: ResponseHead?, body: ByteBuffer?,
        receivedBytes: Int, phases: Phases, connection: ConnectionRecord?, isReused: Bool, error: NightjarError?
    ) {
        self.call = call
        self.attempt = attempt
        self.started = started
        self.sent = sent
        self.head = head
        self.body = body
        self.receivedBytes = receivedBytes
        self.phases = phases
        self.connection = connection
        self.isReused = isReused
        self.error = error
    }

    public var request: RequestRecord { RequestRecord(sent) }
    var method: Method { sent.method }
    var url: RequestURL { sent.url }
}

extension HAREntry {
    public init(_ exchange: ExchangeReport) {
        let phases = exchange.phases
        self.init(
            started: exchange.started, request: exchange.request,
            response: exchange.head.map {
                Response(head: $0, body: exchange.body, encodedLength: exchange.receivedBytes)
            }, total: phases.total)
        timings.blocked = phases.blocked
        timings.dns = phases.dns
        // What opens the connection, TLS included.
        timings.connect = phases.connect.map { $0 + (phases.tls ?? .zero) }
        timings.tls = phases.tls
        timings.send = .zero
        timings.wait = phases.wait
        timings.receive = phases.receive
        serverAddress = exchange.connection?.peerAddress
        connection = exchange.connection.map { String($0.number) }
        failure = exchange.error
    }
}
