import DequeModule
import NIOCore
import NightjarHTTP
import NightjarSystem

/// Sends requests over TCP or Unix sockets, with or without TLS. Each origin has its own connection pool.
///
/// Used on the loop after its creation. `Sendable` only because a timer retains the transport.
public final class NetworkTransport: HTTPTransport, @unchecked Sendable {
    typealias Pool = OriginPool<HTTP1Connection, HTTP2Connection, NetworkExchange, NIODeadline>

    typealias Host = TransportHost

    struct HostKey: Hashable {
        let origin: Origin
        /// Whether the connections use HTTP/1.1, for WebSockets and for servers that require it. A proxy must open a tunnel,
        /// also to an http origin.
        let usesHTTP1: Bool
    }

    let loop: any EventLoop
    let clock: LoopClock
    let connector: Connector
    private let configuration: TransportConfiguration
    /// The limits and syntax options of responses.
    let decoderLimits: HTTP1ResponseDecoder.Limits
    let largeBodies = LargeBodyBuffers()
    private let proxies: ProxyRules
    var hosts: [HostKey: Host] = [:]
    private var latestHost: Host?
    var attempts: [ObjectIdentifier: ConnectionAttempt] = [:]
    var connections: [ObjectIdentifier: HTTP1Connection] = [:]
    var sharedConnections: [ObjectIdentifier: HTTP2Connection] = [:]
    private var dueAttempts = Deque<(Host, Pool.Attempt)>()
    private var isStartingAttempts = false
    private var expiry: Scheduled<Void>?
    private var hostsBeforeSweep = 64
    var isShutDown = false
    /// Reports changes of the network. Active from the first idle connection to a remote host until no connection is
    /// idle.
    private let watch: NetworkWatch
    /// Ends the probing of connections after a change of the network.
    var probeEnd: Scheduled<Void>?
    private var sleep = SleepDetector()

    /// - Throws: `tls` if the certificate authorities, a client certificate or its key are invalid or cannot be read;
    ///   `storage` if the key log file cannot be opened; `invalid_argument` if TLS options contradict each other.
    public convenience init(
        loop: any EventLoop, clock: LoopClock = LoopClock(), configuration: TransportConfiguration
    ) throws(NightjarError) {
        try self.init(loop: loop, clock: clock, configuration: configuration, lookUp: AddressResolver.queryResolver)
    }

    /// - Parameter lookUp: Replaces the system's resolver.
    init(
        loop: any EventLoop, clock: LoopClock = LoopClock(), configuration: TransportConfiguration,
        lookUp: @escaping AddressResolver.LookUp
    ) throws(NightjarError) {
        self.loop = loop
        self.clock = clock
        self.configuration = configuration
        var limits = HTTP1ResponseDecoder.Limits()
        limits.acceptsBareLF = configuration.lenientLineEndings
        decoderLimits = limits
        proxies = configuration.proxy.rules { name in getenv(name).map { String(cString: $0) } }
        connector = try Connector(loop: loop, configuration: configuration, lookUp: lookUp)
        watch = NetworkWatch(loop)
    }

    public func begin(
        _ request: PreparedRequest, connectTimeout: Duration?, receiver: any ExchangeReceiver
    ) -> any Exchange {
        do throws(NightjarError) {
            let exchange = NetworkExchange(
                request, connectTimeout: connectTimeout, host: try host(for: request), transport: self,
                receiver: receiver)
            acquire(for: exchange, fresh: false)
            return exchange
        } catch {
            receiver.exchangeFailed(error)
            return NoExchange()
        }
    }

    public func shutDown() {
        isShutDown = true
        watch.stop()
        probeEnd?.cancel()
        probeEnd = nil
        expiry?.cancel()
        expiry = nil
        let error = NightjarError(.cancelled, "the client was closed")
        for attempt in attempts.values { attempt.failed(error) }
        for connection in connections.values { connection.abort(error) }
        for connection in sharedConnections.values { connection.abort(error) }
        connector.shutDown()
    }

    // MARK: Finding a connection

    func host(for request: PreparedRequest) throws(NightjarError) -> Host {
        let host = try host(for: request.origin)
        if host.requiresHTTP1 {
            let other = try self.host(for: request.origin, usesHTTP1: true)
            other.http1Reason = "the server requires it"
            return other
        }
        guard case .upgrade = request.body, !acceptsUpgrades(host) else { return host }
        return try self.host(for: request.origin, usesHTTP1: true)
    }

    private func acceptsUpgrades(_ host: Host) -> Bool {
        // A proxy that forwards requests does not forward upgrades (RFC 6455 section 4.1).
        if case .forwarded = host.route { return false }
        return switch host.versions {
        case .http1, .http2: true
        // Few servers accept WebSockets over HTTP/2, so HTTP/1.1 is used until a connection shows that the server does.
        case .negotiated: host.acceptsTunnels == true
        }
    }

    private func host(for origin: Origin, usesHTTP1: Bool = false) throws(NightjarError) -> Host {
        if !usesHTTP1, let latestHost, latestHost.origin == origin { return latestHost }
        let key = HostKey(origin: origin, usesHTTP1: usesHTTP1)
        let host: Host
        if let known = hosts[key] {
            host = known
        } else {
            forgetUnusedHosts()
            let route = try Route(to: origin, needsTunnel: usesHTTP1, socket: configuration.unixSocket, proxies)
            try connector.addresses.check(origin, route)
            let (versions, reason) = usesHTTP1 ? (.http1, nil) : try configuration.versions(for: origin, route)
            host = Host(
                origin, route, limit: configuration.connectionsPerHost, versions: versions, http1Reason: reason)
            hosts[key] = host
        }
        if !usesHTTP1 { latestHost = host }
        return host
    }

    /// Removes the unused hosts if there are at least 64 hosts, and twice as many as after the last removal. Programs
    /// such as crawlers contact many hosts only once.
    private func forgetUnusedHosts() {
        guard hosts.count >= hostsBeforeSweep else { return }
        hosts = hosts.filter { !$0.value.pool.isUnused }
        hostsBeforeSweep = max(64, hosts.count * 2)
    }

    func acquire(for exchange: NetworkExchange, fresh: Bool) {
        let host = exchange.host
        if sleep.mayHaveOccurred(at: clock.now) { networkChanged() }
        if host.pool.hasUnconfirmed { confirmIdle(of: host) }
        if host.versions != .http1, !host.isLocal { probeLongIdle(host) }
        switch host.pool.acquire(exchange, fresh: fresh) {
        case .use(let connection):
            exchange.start(on: connection, reused: true)
        case .share(let connection):
            exchange.start(on: connection)
        case .connect(let ticket):
            exchange.wait(ticket)
            connect(host, for: ticket, timeout: exchange.connectTimeout)
        case .wait(let ticket):
            exchange.wait(ticket)
            if fresh || host.pool.hasUnconfirmed, let (idle, attempt) = host.pool.replaceOldestIdle() {
                connections[ObjectIdentifier(idle)] = nil
                idle.close()
                connect(host, attempt)
            }
        }
    }

    /// Starts an attempt. An attempt may fail immediately and cause the next attempt. The next attempt is then queued,
    /// because recursion could overflow the stack if many exchanges wait.
    func connect(_ host: Host, _ attempt: Pool.Attempt?) {
        guard let attempt else { return }
        dueAttempts.append((host, attempt))
        guard !isStartingAttempts else { return }
        isStartingAttempts = true
        while let (host, attempt) = dueAttempts.popFirst(), !isShutDown {
            connect(host, for: attempt.ticket, timeout: attempt.waiter.connectTimeout)
        }
        isStartingAttempts = false
    }

    private func connect(_ host: Host, for ticket: Pool.Ticket, timeout: Duration?) {
        let attempt = ConnectionAttempt(self, connector, to: host, for: ticket, timeout: timeout)
        attempts[ObjectIdentifier(attempt)] = attempt
        attempt.start()
    }

    // MARK: Events of connections

    func connected(_ attempt: ConnectionAttempt, _ connection: HTTP1Connection) {
        attempts[ObjectIdentifier(attempt)] = nil
        connections[ObjectIdentifier(connection)] = connection
        place(connection, connection.host.pool.connected(), reused: false)
        startAttempts(attempt.host)
    }

    /// Starts the attempts that the waiters of a host need.
    func startAttempts(_ host: Host) {
        while !isShutDown, let attempt = host.pool.takeAttempt() { connect(host, attempt) }
    }

    func connectFailed(_ attempt: ConnectionAttempt, _ error: NightjarError) {
        attempts[ObjectIdentifier(attempt)] = nil
        // The attempt was made for all that wait, if they may share its connection and their timeouts are not longer.
        let others =
            attempt.host.pool.sharing == .never
            ? []
            : attempt.host.pool.removeWaiters {
                error.kind != .timeout || $0.connectTimeout == attempt.requestedTimeout
            }
        let (failed, next) = attempt.host.pool.connectFailed(for: attempt.ticket)
        connect(attempt.host, next)
        let error = attempt.host.isLocal ? error : OfflineCheck.explained(error)
        failed?.connectFailed(error)
        for exchange in others { exchange.connectFailed(error) }
    }

    /// Assigns a connection whose exchange is complete to the next exchange, or parks it as an idle connection.
    func released(_ connection: HTTP1Connection) {
        place(connection, connection.host.pool.released(), reused: true)
    }

    /// Removes a connection that was lost during an exchange or cannot be reused after it.
    func lost(_ connection: HTTP1Connection) {
        connections[ObjectIdentifier(connection)] = nil
        if connection.isUpgraded { return }
        connect(connection.host, connection.host.pool.lost())
    }

    /// Removes a connection from the pool that no longer speaks HTTP. It does not count for the limit of connections.
    func upgraded(_ connection: HTTP1Connection) { connect(connection.host, connection.host.pool.lost()) }

    func lostIdle(_ connection: HTTP1Connection) {
        connections[ObjectIdentifier(connection)] = nil
        _ = connection.host.pool.lostIdle(connection)
    }

    private func place(_ connection: HTTP1Connection, _ placed: Pool.Placed, reused: Bool) {
        switch placed {
        case .assign(let exchange): exchange.start(on: connection, reused: reused)
        case .park:
            connection.host.pool.park(connection, now: clock.now)
            watchNetwork(for: connection.host)
            armExpiry()
        }
    }

    // MARK: Certificate pinning

    /// Receives the events of pinning, on the loop. Set before the first exchange.
    package func observePinning(_ observer: @escaping (PinningEvent) -> Void) {
        connector.tls.pins.observer = observer
    }

    /// Receives the events of the key log, on the loop. Set before the first exchange.
    package func observeKeyLog(_ observer: @escaping (KeyLogEvent) -> Void) {
        connector.tls.keyLog?.observer = observer
    }

    /// Changes the effect of pin mismatches. If the new mode is stricter, connections to pinned hosts that were opened
    /// before are not used for further exchanges.
    package func setPinning(_ mode: Pinning.Mode) {
        guard connector.tls.pins.set(mode) else { return }
        retire(where: isPinned)
    }

    /// Forgets the client certificates that the caller has chosen. Connections that may use one are not used for further
    /// exchanges.
    package func forgetChosenCertificates() {
        retire(where: usesChosenCertificate)
        connector.tls.forgetChosenCertificates()
    }

    private func retire(where isAffected: (Host) -> Bool) {
        for connection in Array(connections.values) where isAffected(connection.host) { connection.retire() }
        for connection in Array(sharedConnections.values) where isAffected(connection.host) { connection.retire() }
        for attempt in Array(attempts.values) where isAffected(attempt.host) { attempt.retire() }
    }

    private func usesChosenCertificate(_ host: Host) -> Bool {
        let tls = connector.tls
        if host.origin.isTLS, tls.hasChosenCertificate(for: Peer(host.origin)) { return true }
        return host.connectedPeer.isTLS && tls.hasChosenCertificate(for: host.connectedPeer)
    }

    private func isPinned(_ host: Host) -> Bool {
        let pins = connector.tls.pins
        if host.origin.isTLS, pins.mode(for: host.origin.host) != nil { return true }
        return host.route.proxy.map { $0.kind == .https && pins.mode(for: $0.host) != nil } ?? false
    }

    /// Opens another connection for the waiter of an attempt that has been abandoned.
    func reopen(_ attempt: ConnectionAttempt) {
        attempts[ObjectIdentifier(attempt)] = nil
        let (waiter, next) = attempt.host.pool.connectFailed(for: attempt.ticket)
        connect(attempt.host, next)
        if let waiter { acquire(for: waiter, fresh: true) }
    }

    // MARK: Expiry of idle connections

    private var lifetime: TimeAmount { .nanoseconds(configuration.idleConnectionLifetime.nanosecondsClamped) }

    func armExpiry() {
        guard expiry == nil, !isShutDown else { return }
        let moments = hosts.values.flatMap { [$0.pool.oldestIdle, $0.pool.oldestIdleShared] }
        guard let oldest = moments.compactMap({ $0 }).min() else {
            if !sharedConnections.values.contains(where: { !$0.host.isLocal }) { watch.stop() }
            return
        }
        expiry = loop.scheduleTask(deadline: oldest + lifetime) { self.expire() }
    }

    /// Starts to observe the network if a host is on another machine. After a change, idle and shared connections are
    /// probed before they are used.
    func watchNetwork(for host: Host) {
        guard !host.isLocal, !watch.isActive else { return }
        watch.start { [self] change in
            if change.pathChanged { networkChanged() }
        }
    }

    private func expire() {
        expiry = nil
        let moment = NIODeadline.now() - lifetime
        for host in hosts.values {
            for connection in host.pool.expire(idleSince: moment) {
                connections[ObjectIdentifier(connection)] = nil
                connection.close()
            }
            for connection in host.pool.expireShared(idleSince: moment) {
                sharedConnections[ObjectIdentifier(connection)] = nil
                connection.close()
            }
        }
        armExpiry()
    }
}

/// An exchange that ended before it began.
private final class NoExchange: Exchange {
    func cancel() {}
    func pause() {}
    func resume() {}
    func send(_ part: ByteBuffer) {}
    func endBody() {}
}
