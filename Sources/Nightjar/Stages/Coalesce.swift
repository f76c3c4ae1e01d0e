import NIOCore
import NightjarHTTP

/// Lets identical concurrent calls share one exchange and one body in memory. This stage is not a cache: completed
/// responses are not kept.
///
/// Only calls with the option `coalesces` and without callbacks for the response, redirects, retries and revalidations
/// share an exchange. Calls are identical if they are safe, have no body, have byte-identical heads including
/// credentials, use the same login, and have equivalent options. The exchange is an internal call. A waiting call can
/// leave at any time, and the last call that leaves ends the exchange.
///
/// No further calls join an exchange
/// - after one of its calls has timed out, because the server may never respond;
/// - after a write to its origin has ended, or after the response head of the write has been delivered. The response of
///   the exchange may show the state before the write. RFC 9111 section 4.4 invalidates stored responses of single URLs
///   for the same reason. This stage retires all exchanges of the origin, because a write to a member also changes its
///   collection, and another exchange costs little.
final class Coalesce: Stage, @unchecked Sendable {
    override var hooks: StageHooks { [.outgoing, .incoming, .expired, .ended] }
    private let sessions: TokenSessions
    private let places = CallStateKey<Place>()
    private var exchanges: [Key: Shared] = [:]
    /// The exchange that was joined last, checked first.
    private var latest: Shared?

    private struct Key: Hashable {
        let request: PreparedRequest
        let options: CallOptions
        /// The generation of the login, because the request does not carry the token yet.
        let login: UInt64

        static func == (a: Key, b: Key) -> Bool {
            a.login == b.login && a.request.isSame(as: b.request) && a.options.isEquivalent(b.options)
        }

        func hash(into hasher: inout Hasher) { hasher.combine(request.fingerprint) }
    }

    private final class Shared {
        let key: Key
        /// The request and options of the call that joined last. The next call often repeats them.
        var request: PreparedRequest
        var options: CallOptions
        var exchange: Call?
        /// The waiting calls, in order of arrival. Nil for a call that has left.
        var waiters: [Call?] = []
        var present = 0
        /// The timeout error of a call that has left. Nil: no call has timed out.
        var timeout: NightjarError?

        init(_ key: Key) {
            self.key = key
            request = key.request
            options = key.options
        }

        /// Whether the exchange reads from this origin, now or before its first redirect.
        func reads(_ origin: Origin) -> Bool {
            key.request.origin == origin || exchange?.request.origin == origin
        }

        /// Ends the exchange after the last call has left. If a call timed out, the exchange fails with the same error,
        /// so that the circuit breaker counts the timeout.
        func end() {
            guard let timeout else { return exchange?.cancel() ?? () }
            exchange?.finish(.failure(timeout))
        }
    }

    /// The place of one call in the list of calls that wait for an exchange.
    private final class Place: CallState {
        let shared: Shared
        let index: Int

        init(_ shared: Shared, _ index: Int) {
            self.shared = shared
            self.index = index
        }
    }

    init(_ sessions: TokenSessions) { self.sessions = sessions }

    override func outgoing(_ call: Call) -> Verdict {
        guard call.options.coalesces, call.request.method.isSafe, case .none = call.request.body,
            call.task.handlers.isForCompleteResponses, call.task.handlers.refreshed == nil
        else { return .proceed }
        let login = sessions[call.options.login]?.logins ?? 0
        if let latest, latest.request === call.request, latest.options === call.options, latest.key.login == login {
            join(latest, call)
            return .wait
        }
        let key = Key(request: call.request, options: call.options, login: login)
        if let shared = exchanges[key] {
            shared.request = call.request
            shared.options = call.options
            join(shared, call)
            return .wait
        }
        let shared = Shared(key)
        exchanges[key] = shared
        join(shared, call)
        let exchange = call.branch { [self] in resolve(shared, $0) }
        shared.exchange = exchange
        call.sharedExchange = exchange
        exchange.waiters = { [weak shared] in shared?.waiters.compactMap { $0 } ?? [] }
        exchange.begin()
        return .wait
    }

    private func join(_ shared: Shared, _ call: Call) {
        if latest !== shared { latest = shared }
        call.states[places] = Place(shared, shared.waiters.count)
        call.sharedExchange = shared.exchange
        shared.waiters.append(call)
        shared.present += 1
        guard let exchange = shared.exchange else { return }
        for decision in exchange.sharedDecisions { decision.post(for: exchange) }
    }

    /// Retires exchanges when the response head of a write is delivered before the body. From then on, the caller may
    /// read the state that it has written.
    override func incoming(_ head: inout ResponseHead, _ call: Call) -> Verdict {
        if !exchanges.isEmpty, !call.task.handlers.isForCompleteResponses { retireBefore(call) }
        return .proceed
    }

    /// Ends the call's wait for its exchange, because another stage may respond to the call.
    override func expired(_ error: NightjarError, _ call: Call) -> Verdict {
        leave(call, error)
        return .proceed
    }

    override func ended(_ result: Result<Response, NightjarError>, _ call: Call) {
        guard call.states[places] != nil else {
            if !exchanges.isEmpty { retireBefore(call) }
            return
        }
        if case .failure(let error) = result { leave(call, error) } else { leave(call, nil) }
    }

    /// Ends the call's wait for its exchange.
    ///
    /// - Parameter error: The reason, if the call has failed or its timeout has expired; otherwise nil.
    private func leave(_ call: Call, _ error: NightjarError?) {
        guard let place = call.states[places].take() else { return }
        call.sharedExchange = nil
        let shared = place.shared
        // The list is empty while its calls are resumed.
        if place.index < shared.waiters.count { shared.waiters[place.index] = nil }
        shared.present -= 1
        if let error, error.kind == .timeout {
            shared.timeout = error
            retire(shared)
        }
        guard shared.present == 0 else { return }
        // Retired first, so that no call joins an exchange that is about to end.
        retire(shared)
        shared.end()
    }

    /// Retires the exchanges of the origins to which the call has written.
    private func retireBefore(_ call: Call) {
        guard call.attempts > 0, !call.task.request.method.isSafe || !call.request.method.isSafe else { return }
        for shared in exchanges.values
        where shared.reads(call.request.origin) || shared.reads(call.task.request.origin) {
            retire(shared)
        }
    }

    /// Prevents further calls from joining the exchange.
    private func retire(_ shared: Shared) {
        if exchanges[shared.key] === shared { exchanges[shared.key] = nil }
        if latest === shared { latest = nil }
    }

    private func resolve(_ shared: Shared, _ result: Result<Response, NightjarError>) {
        retire(shared)
        let receivedBytes = shared.exchange?.receivedBytes ?? 0
        shared.exchange = nil
        var waiters: [Call?] = []
        swap(&waiters, &shared.waiters)
        var verdict: Verdict
        switch result {
        case .success(let response) where shared.present == 1: verdict = .respond(response)
        case .success(let response): verdict = .respond(response.shared(by: shared.present))
        case .failure(let error): verdict = .fail(error)
        }
        for index in waiters.indices {
            // Moved out, so that each call is released directly after it has been resumed.
            guard let waiter = waiters[index].take() else { continue }
            waiter.states[places] = nil
            waiter.sharedExchange = nil
            waiter.receivedBytes = receivedBytes
            waiter.resume(verdict)
            if case .respond(let response) = verdict, response.source == .network {
                verdict = .respond(response.explained(response.decisions, source: .coalesced))
            }
        }
    }
}

extension Response {
    fileprivate func shared(by calls: Int) -> Response {
        explained(decisions + [Decision(.coalesced(calls: calls), attempt: attempts, moment: timing.total)])
    }
}

extension CallOptions {
    /// Whether two calls can share an exchange. Total timeouts, callbacks and response schemas may differ.
    fileprivate func isEquivalent(_ other: CallOptions) -> Bool {
        if self === other { return true }
        return maximumBody == other.maximumBody && decompresses == other.decompresses
            && usesCookies == other.usesCookies
            && login == other.login && redirect == other.redirect && limitGroup.isExactly(other.limitGroup)
            && retry == other.retry && isIdempotent == other.isIdempotent && cache == other.cache && insertion == nil
            && other.insertion == nil
            && timeouts.connect == other.timeouts.connect && timeouts.idle == other.timeouts.idle
            && respectsRetryAfter == other.respectsRetryAfter && connectivity == other.connectivity
            // One call may accept a status that another call retries.
            && expectedStatuses == other.expectedStatuses && confinement === other.confinement
    }
}
