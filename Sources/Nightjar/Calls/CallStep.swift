import NightjarHTTP

extension ClientTask {
    /// An event of a call, reported while the call runs. Steps contain no secrets.
    ///
    /// Each call starts once and ends once. The other steps occur in the order of the client's work. A redirect, a retry or
    /// a repeated authentication leads to further steps of the same call.
    ///
    /// A token request is a call of its own. An exchange that several calls share reports its steps for the call that has
    /// started it; the other calls only start and end.
    public struct Step: Sendable, Equatable {
        /// The number of the call, as ``ClientTask/callID``.
        public let callID: Int
        /// The time since the start of the call.
        public let time: Duration
        /// The number of exchanges that the call had started. 0 before the first one.
        public let attempt: Int
        public let kind: Kind
        /// The number of steps that were dropped before this one, because the queue was not polled.
        public internal(set) var dropped = 0

        init(_ kind: Kind, callID: Int, attempt: Int, time: Duration) {
            self.kind = kind
            self.callID = callID
            self.attempt = attempt
            self.time = time
        }
    }
}

extension ClientTask.Step {
    public typealias HTTPVersion = NightjarHTTP.HTTPVersion

    /// The kind of a step and its details.
    public enum Kind: Sendable, Equatable {
        /// The client has started the call. Secrets in the URL are masked.
        case started(Method, url: String)
        /// The addresses of the host, which may be a proxy, are known. Not reported if the addresses were cached.
        case resolved(host: String, Duration)
        /// The connection that the call waits for is connected to this address. The call may still use another
        /// connection that becomes idle first.
        case connected(to: String?, Duration)
        /// The TLS handshake of this connection is complete.
        case secured(Duration)
        /// The client has started to send the request on a connection. The address and the version of HTTP are nil if the
        /// transport does not report them.
        case sent(on: String?, HTTPVersion?, isReused: Bool)
        /// The head of the response has arrived.
        case firstByte(status: Int)
        /// The client follows a redirect. Secrets in the URL are masked.
        case redirected(status: Int, to: String)
        /// The client retries the request after a wait.
        case retried(because: NightjarError.Kind, after: Duration)
        /// The cache has responded: with a fresh, a stale or a revalidated entry of this age.
        case cacheHit(Response.Source, age: Duration)
        /// The call has succeeded.
        case ended(status: Int, Response.Source)
        /// The call has failed. The status is that of the response, if there was one.
        case failed(NightjarError.Kind, status: Int?)
    }

    /// Whether this is the last step of its call.
    public var isLast: Bool {
        switch kind {
        case .ended, .failed: true
        default: false
        }
    }
}

extension ClientTask.Step.Kind {
    init(_ step: ConnectionRecord.Step) {
        switch step {
        case .resolved(let host, let length): self = .resolved(host: host, length)
        case .connected(let peer, let length): self = .connected(to: peer, length)
        case .secured(let length): self = .secured(length)
        }
    }

    init(_ result: Result<Response, NightjarError>) {
        switch result {
        case .success(let response): self = .ended(status: response.status, response.source)
        case .failure(let error): self = .failed(error.kind, status: error.status)
        }
    }
}

/// Receives the steps of the calls of clients.
protocol StepReceiver: AnyObject, Sendable {
    /// Delivers a step, later. Called on the loop.
    func post(_ step: ClientTask.Step, from loop: ClientLoop)
}
