import NightjarHTTP
import NightjarTransport
import Synchronization

extension TransportConfiguration {
    /// A callback that resolves names or decides about addresses; see ``Configuration/resolver`` and
    /// ``Configuration/onAddresses``.
    public final class AddressCallback: Sendable {
        let decide: @Sendable (AddressRequest) -> Void
        let place: DecisionPlace
        /// Whether the requests fail when their client closes.
        let endsWithClient: Bool

        /// - Parameters:
        ///   - runsOnLoop: If true, the callback runs on the client's loop thread and must not block. If false, it runs
        ///     on the first polled queue of the calls that wait for the decision. If a waiting call has no queue, the
        ///     callback runs on the loop thread.
        ///   - decide: Responds to the request, at once or later. If it releases the request without a response, the
        ///     waiting calls fail.
        public init(runsOnLoop: Bool = true, _ decide: @escaping @Sendable (AddressRequest) -> Void) {
            place = runsOnLoop ? .loop : .queues
            endsWithClient = false
            self.decide = decide
        }

        /// Creates a callback that runs on the loop thread and passes the requests to a thread that also closes the client.
        /// This thread cannot respond while it waits for the end of the client.
        package init(endingWithClient decide: @escaping @Sendable (AddressRequest) -> Void) {
            place = .loop
            endsWithClient = true
            self.decide = decide
        }

        /// Creates a callback that never runs on the loop thread.
        ///
        /// - Parameter queue: The queue for requests that belong to no call. Nil: the queues of all calls in flight.
        package init(onQueuesAnd queue: CompletionQueue?, _ decide: @escaping @Sendable (AddressRequest) -> Void) {
            place = .queuesOnly(queue)
            endsWithClient = false
            self.decide = decide
        }
    }

    /// A decision request for the addresses of a host to which a connection is about to be opened.
    public final class AddressRequest: Sendable {
        struct Details: Sendable {
            let host: String
            let port: Int
            let isProxy: Bool
            /// Nil in a request to resolve the name.
            let candidates: [IPAddress]?
        }

        private let details: Details
        private let submit: @Sendable (ConnectionChallenge.Decision) -> Void
        private let forkGeneration = Fork.generation
        private let hasResponse = Atomic<Bool>(false)

        /// The name or the address of the server or proxy.
        public var host: String { details.host }
        public var port: Int { details.port }
        /// Whether the host is a proxy.
        public var isProxy: Bool { details.isProxy }
        /// The addresses of the host, at most ``maximumAddresses``. Empty in a request to resolve the name.
        public var addresses: [IPAddress] { details.candidates ?? [] }

        /// - Parameter submit: Submits the response to the client's loop.
        init(_ details: Details, submit: @escaping @Sendable (ConnectionChallenge.Decision) -> Void) {
            self.details = details
            self.submit = submit
        }

        deinit {
            guard !hasResponse.load(ordering: .relaxed) else { return }
            submit(.fail(details.failure("the callback released the request without a response")))
        }

        /// Responds with the addresses to which connections may be opened, in order of preference. IPv6 and IPv4 addresses
        /// are tried alternately (RFC 8305). If the list is empty, the waiting calls fail with `dns` or, if the callback
        /// decides about addresses, with `invalid_request`. Any thread.
        ///
        /// - Throws: `invalid_argument` for more than ``maximumAddresses`` addresses, for an address that is not one of
        ///   ``addresses`` if the callback decides about addresses, and if the request already has a response; `forked`.
        ///   The request stays pending if the response does not fit.
        public func respond(_ addresses: [IPAddress]) throws(NightjarError) {
            guard addresses.count <= AddressRequest.maximumAddresses else { throw AddressRequest.tooMany }
            if let candidates = details.candidates, let other = addresses.first(where: { !candidates.contains($0) }) {
                throw NightjarError(
                    .invalidArgument,
                    "\(other) is not an address of \(quoted(host)) in the request; respond with addresses of the request"
                )
            }
            try end(.addresses(addresses))
        }

        /// Fails the waiting calls, with `dns` if the callback resolves names, and with `invalid_request` if it decides
        /// about addresses. Any thread.
        ///
        /// - Parameter message: The reason for the developer, in the errors of the calls; nil: none.
        /// - Throws: `invalid_argument` if the request already has a response; `forked`.
        public func fail(_ message: String? = nil) throws(NightjarError) {
            try end(.fail(details.failure(message)))
        }

        /// Responds as if there were no callback: the system resolves the name, or all addresses are used. Any thread.
        ///
        /// - Throws: `invalid_argument` if the request already has a response; `forked`.
        public func useDefault() throws(NightjarError) { try end(.useDefault) }

        /// Fails the waiting calls with the kind `script`, because a function of a script has failed. Any thread.
        ///
        /// - Throws: `invalid_argument` if the request already has a response; `forked`.
        package func fail(inScript message: String) throws(NightjarError) {
            try end(.fail(details.failure(inScript: message)))
        }

        private func end(_ decision: ConnectionChallenge.Decision) throws(NightjarError) {
            guard !Fork.hasForked(since: forkGeneration) else {
                throw NightjarError(.forked, "this address request belongs to the parent process")
            }
            guard !hasResponse.exchange(true, ordering: .relaxed) else {
                throw NightjarError(.invalidArgument, "the address request already has a response")
            }
            submit(decision)
        }

        /// The maximum number of addresses in a request and in a response.
        public static let maximumAddresses = 64

        package static var tooMany: NightjarError {
            NightjarError(
                .invalidArgument, "an address request has more than \(maximumAddresses) addresses; pass fewer")
        }
    }
}

extension TransportConfiguration.AddressRequest.Details {
    /// The error of the calls if the caller provides no addresses.
    func failure(_ message: String?) -> NightjarError {
        let why = message.map { ": \($0)" } ?? ""
        return candidates == nil
            ? NightjarError(.dns, "\(work) failed: the resolver callback has no addresses\(why)", phase: phase)
            : NightjarError(.invalidRequest, "\(work) failed: the on_addresses callback denies it\(why)", phase: phase)
    }

    fileprivate func failure(inScript message: String) -> NightjarError {
        NightjarError(.script, "\(work) failed: \(message)", phase: phase)
    }

    /// The work that waits for the response, for messages.
    private var work: String {
        candidates == nil ? "resolving the host \(quoted(host))" : "connecting to \(host):\(port)"
    }

    private var phase: ErrorPhase { candidates == nil ? .dns : .connect }
}
