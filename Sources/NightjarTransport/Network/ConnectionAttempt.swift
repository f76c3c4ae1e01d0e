import NIOCore
import NightjarHTTP

/// Opens one connection for the pool of a host.
///
///     pending ──open──▶ ended: the connection belongs to the pool
///        └── failure, timeout, retirement ──▶ ended
final class ConnectionAttempt {
    let transport: NetworkTransport
    let connector: Connector
    let host: NetworkTransport.Host
    /// The ticket of the exchange for which the connection is opened.
    let ticket: NetworkTransport.Pool.Ticket
    /// The timeout that the exchange has requested.
    let requestedTimeout: Duration?
    /// The timeout of connecting a socket. ``timer`` limits all steps together.
    let timeout: TimeAmount
    private(set) var isPending = true
    /// The progress of opening.
    var opening = ConnectionOpening()
    /// The channel whose handshakes are in progress.
    var channel: (any Channel)?
    /// The last decision that the connection has requested.
    private(set) var challenge: ConnectionChallenge?
    /// Fires if the connection does not open in time.
    private var timer: Scheduled<Void>?
    /// The origin's addresses that have not been tried, for a SOCKS proxy that does not resolve the name itself.
    var addresses: ArraySlice<SocketAddress> = []
    /// The lookup of the host to which the socket connects. Nil if none is needed.
    var lookUp: LookUpClock?
    /// The caller's lookup for which the attempt waits.
    var nameLookup: NameLookup?
    /// The time at which the addresses were found, if the caller decides about names or addresses. Nil if no lookup was
    /// needed.
    var resolvedAt: NIODeadline?
    /// The peer to which a handshake is repeated without the hybrid key exchange. The message with that key exchange
    /// takes two packets, and some middleboxes reset such connections.
    var classicalPeer: String?

    /// - Parameter timeout: limits all steps together; nil: the default of 130 s.
    init(
        _ transport: NetworkTransport, _ connector: Connector, to host: NetworkTransport.Host,
        for ticket: NetworkTransport.Pool.Ticket, timeout: Duration?
    ) {
        self.transport = transport
        self.connector = connector
        self.host = host
        self.ticket = ticket
        requestedTimeout = timeout
        self.timeout = .nanoseconds(
            timeout?.nanosecondsClamped ?? ConnectionAttempt.longestAttempt.nanoseconds)
    }

    func start() {
        timer = connector.loop.assumeIsolated().scheduleTask(in: timeout) { self.timedOut() }
        begin()
    }

    private func timedOut() {
        let undecided = nameLookup?.challenge ?? challenge
        guard let undecided, undecided.isPending else {
            return failed(ConnectFailure.timeout(host.origin, through: host.route.proxy, timeout))
        }
        let subject = undecided.subject
        failed(ConnectFailure.undecided(subject.callback, phase: subject.phase, host.origin, timeout))
    }

    /// Requests a decision of the callers whose exchanges wait for the connection.
    func challenged(_ challenge: ConnectionChallenge) {
        guard isPending else { return }
        self.challenge = challenge
        requestDecision(challenge)
    }

    func requestDecision(_ challenge: ConnectionChallenge) {
        if host.requestDecision(challenge) { return }
        // A connection for which no exchange waits is not opened without the caller's decision.
        let decision: ConnectionChallenge.Decision =
            host.pool.waitingCount > 0 ? challenge.fallback : .fail(TransportHost.abandoned)
        connector.loop.assumeIsolated().execute { challenge.decide(decision) }
    }

    /// Reports a completed step to the exchanges that wait for the connection.
    func report(_ step: @autoclosure () -> ConnectionRecord.Step) {
        guard connector.reportsSteps, isPending else { return }
        let step = step()
        host.report(to: ticket) { $0.exchangeConnecting(step) }
    }

    /// Reports addresses to which the connection is not opened to the exchanges that wait for it.
    func reportDenied(_ addresses: AddressFilter.Denied) {
        if isPending { host.report(to: ticket) { $0.exchangeDenied(addresses) } }
    }

    // MARK: Ending

    func failed(_ error: NightjarError) {
        let channel = channel
        guard end() else { return }
        channel?.close(promise: nil)
        transport.connectFailed(self, error)
    }

    /// Ends the attempt because its connection must not be used. The waiter acquires another connection.
    func retire() {
        let channel = channel
        guard end() else { return }
        channel?.close(promise: nil)
        transport.reopen(self)
    }

    /// Returns false if the attempt has ended before.
    func end() -> Bool {
        guard isPending else { return false }
        isPending = false
        challenge?.withdraw()
        challenge = nil
        nameLookup?.leave(self)
        nameLookup = nil
        channel = nil
        timer?.cancel()
        timer = nil
        return true
    }

    /// The default timeout. Linux gives up connecting to a silent peer after about the same time.
    private static let longestAttempt = TimeAmount.seconds(130)
}
