import NIOCore
import NightjarHTTP
import NightjarTransport

/// Receives the events or the steps of a client's calls, for traces, archives and metrics.
///
/// Events are not redacted. ``RequestRecord``, `CurlCommand` and `HARWriter` mask secrets.
public final class CallObserver: Sendable {
    /// The queue of ``observe``. Nil: ``observe`` runs on the client's loop thread and must not block.
    let queue: CompletionQueue?
    let observe: @Sendable (Event) -> Void
    /// Nil for an observer of events.
    private let steps: (any StepReceiver)?
    /// Whether the observer receives steps, and not events.
    var observesSteps: Bool { steps != nil }
    /// Whether the reports of WebSocket connections contain their first messages.
    let keepsMessages: Bool

    /// - Parameter queue: Runs `observe` inside `CompletionQueue.poll`. If the call uses the same queue, `observe` runs
    ///   before the call's own callbacks for the same event.
    public init(queue: CompletionQueue? = nil, observe: @escaping @Sendable (Event) -> Void) {
        self.queue = queue
        self.observe = observe
        steps = nil
        keepsMessages = false
    }

    /// Creates an observer whose reports of WebSocket connections contain the first messages, at most 1 MiB.
    package init(
        queue: CompletionQueue?, keepsMessages: Bool, observe: @escaping @Sendable (Event) -> Void
    ) {
        self.queue = queue
        self.keepsMessages = keepsMessages
        self.observe = observe
        steps = nil
    }

    private init(_ steps: any StepReceiver) {
        queue = nil
        self.steps = steps
        observe = { _ in }
        keepsMessages = false
    }

    /// Returns an observer that receives the steps of calls while the calls run: name resolution, connecting, TLS, sending,
    /// the response head, redirects, retries and responses of the cache.
    ///
    /// At most 4,096 steps wait in a queue that is not polled. Further steps replace the oldest ones, and the ends of
    /// calls are dropped last. `Step.dropped` is the number of dropped steps.
    ///
    /// - Parameter queue: Runs `observe` inside `CompletionQueue.poll`. Nil: `observe` runs on the client's loop thread
    ///   and must not block.
    public static func steps(
        on queue: CompletionQueue? = nil, _ observe: @escaping @Sendable (Step) -> Void
    ) -> CallObserver {
        CallObserver(StepDelivery(queue, observe))
    }

    /// Returns an observer that adds the steps of calls to `inbox`.
    package static func steps(to inbox: StepInbox) -> CallObserver { CallObserver(inbox) }
}

extension CallObserver: StepReceiver {
    /// Posts a step to its receiver.
    func post(_ step: Step, from loop: ClientLoop) { steps?.post(step, from: loop) }
}

extension CallObserver {
    public typealias Step = ClientTask.Step

    /// An event of a call. Each call begins once, has any number of exchanges, and ends once.
    public enum Event: Sendable {
        case began(CallReport)
        /// An exchange has ended, with or without a response. Each redirect and each attempt is a separate exchange.
        case exchanged(ExchangeReport)
        case ended(CallReport, Result<Response, NightjarError>)
    }

    /// A call that has started.
    public final class CallReport: Sendable {
        /// Identifies the call in this process, as ``ClientTask/callID``.
        public let number: Int
        /// The time at which the first exchange of the call started, in seconds since 1970. For a call without an
        /// exchange, the time at which the call ended.
        public let started: Double
        private let preparedRequest: PreparedRequest

        init(number: Int, started: Double, request: PreparedRequest) {
            self.number = number
            self.started = started
            preparedRequest = request
        }

        /// The caller's request.
        public var request: RequestRecord { RequestRecord(preparedRequest) }
        package var method: Method { preparedRequest.method }
        package var origin: Origin { preparedRequest.url.origin }
    }

    /// One request and its result.
    public final class ExchangeReport: Sendable {
        /// The durations of the phases; nil if a phase did not occur or is unknown.
        public struct Phases: Sendable, Equatable {
            /// The time spent waiting for a connection, without the time to open the connection.
            public var blocked = Duration.zero
            public var dns: Duration?
            /// The time to open the connection, without name resolution and TLS.
            public var connect: Duration?
            public var tls: Duration?
            /// The time from sending the request to the response head or the end.
            public var wait: Duration?
            /// The time from the response head to the end.
            public var receive: Duration?

            public var total: Duration {
                [dns, connect, tls, wait, receive].reduce(blocked) { $0 + ($1 ?? .zero) }
            }
            /// The time until the response head was received.
            public var firstByte: Duration? { receive.map { total - $0 } }
        }

        public let call: CallReport
        /// The number of this exchange in the call, starting at 1.
        public let attempt: Int
        /// The time at which the exchange started, in seconds since 1970.
        public let started: Double
        private let sent: PreparedRequest
        /// The response head; nil if there was no response.
        public let head: ResponseHead?
        /// The decoded body; nil if it was streamed, was not received completely or is a token response.
        public let body: ByteBuffer?
        /// Bytes of the body as received, before decoding.
        public let receivedBytes: Int
        public let phases: Phases
        public let connection: ConnectionRecord?
        public let isReused: Bool
        /// The identifier of the HTTP/2 stream. Nil for HTTP/1.1.
        public let stream: Int32?
        /// The messages of a WebSocket. Nil for other exchanges, and if no observer keeps messages.
        let messages: WebSocketTranscript?
        /// Why the response is missing, incomplete or rejected. An unexpected status is not reported here, only as the
        /// error of the call.
        public let error: NightjarError?

        /// An exchange in progress.
        struct Exchange {
            let request: PreparedRequest
            let attempt: Int
            let began: NIODeadline
            let started = WallClock.secondsSince1970()
            var head: ResponseHead?
        }

        /// Reports an exchange of `call` that ends now.
        ///
        /// - Parameters:
        ///   - report: The report of the caller's call, which may share the exchange of `call`.
        ///   - body: Nil if the body was streamed, is not complete or must not be reported.
        init(
            _ exchange: Exchange, of report: CallReport, on call: Call, body: ByteBuffer?, error: NightjarError?
        ) {
            self.call = report
            attempt = exchange.attempt
            started = exchange.started
            sent = exchange.request
            head = exchange.head
            self.body = body
            receivedBytes = call.receivedBytes
            let timing = call.timing
            phases = Phases(
                timing, from: .nanoseconds((exchange.began - call.started).nanoseconds),
                to: .nanoseconds((call.loop.clock.now - call.started).nanoseconds))
            connection = timing.connection
            isReused = timing.reusedConnection
            stream = timing.stream
            messages = call.states[MessageTranscript.key]?.messages
            self.error = error
        }

        public var request: RequestRecord { RequestRecord(sent) }
        package var method: Method { sent.method }
        package var url: RequestURL { sent.url }
        /// The length of the request body in bytes as sent; nil if it is unknown.
        package var requestLength: Int? { sent.isCompressed ? nil : sent.body.length }
    }
}

extension HAREntry {
    package init(_ exchange: CallObserver.ExchangeReport) {
        let phases = exchange.phases
        self.init(
            started: exchange.started, request: exchange.request,
            response: exchange.head.map {
                Response(head: $0, body: exchange.body, encodedLength: exchange.receivedBytes)
            }, total: phases.total)
        timings.blocked = phases.blocked
        timings.dns = phases.dns
        // Includes TLS, as HAR requires.
        timings.connect = phases.connect.map { $0 + (phases.tls ?? .zero) }
        timings.tls = phases.tls
        timings.send = .zero
        timings.wait = phases.wait
        timings.receive = phases.receive
        serverAddress = exchange.connection?.peerAddress
        connection = exchange.connection.map { String($0.number) }
        version = exchange.connection?.version ?? .http1_1
        stream = exchange.stream
        messages = exchange.messages
        failure = exchange.error
    }
}
