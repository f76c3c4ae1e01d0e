import NIOCore
import NIOPosix
import NightjarHTTP

/// The steps along the route: TCP with fallback between addresses (RFC 8305, by SwiftNIO), the proxy's handshake, and the
/// origin's TLS.
extension ConnectionAttempt {
    func begin() {
        switch host.route {
        case .socket(let socket): expect(bootstrap(bindsSocket: false).connect(unixDomainSocketPath: socket.path))
        case .tunnelled(let proxy) where proxy.kind == .socks5: lookUpOrigin()
        case .direct: open()
        case .forwarded, .tunnelled: checkOrigin { [self] in open() }
        }
    }

    private func lookUpOrigin() {
        let origin = Peer(host.origin)
        if decidesAddresses {
            return findAddresses(of: origin, isConnectedByProxy: true) { [self] found in
                addresses = found[...]
                open()
            }
        }
        connector.resolver.addresses(origin.host, origin.port).assumeIsolated().whenComplete { [self] result in
            guard isPending else { return }
            do {
                let permitted = try connector.addresses.permitted(
                    result.get(), of: origin, isConnectedByProxy: true, reporting: reportDenied)
                addresses = permitted[...]
                guard !addresses.isEmpty else { return failed(ConnectFailure.notFound(origin.host, nil)) }
                open()
            } catch {
                failed(ConnectFailure.notFound(origin.host, error))
            }
        }
    }

    // MARK: The socket

    /// - Parameter bindsSocket: Whether the socket is bound to the configured interface and local address.
    private func bootstrap(bindsSocket: Bool) -> ClientBootstrap {
        ClientBootstrap(group: connector.loop)
            .connectTimeout(timeout)
            .channelInitializer { [connector] channel in
                connector.watch(channel)
                return channel.eventLoop.makeCompletedFuture { if bindsSocket { try connector.bind(channel) } }
            }
            .channelOption(.writeBufferWaterMark, value: .init(low: 128 * 1024, high: 512 * 1024))
    }

    /// Opens a socket to the connected peer.
    private func open() {
        let peer = host.connectedPeer
        if decidesAddresses { return findAddresses(of: peer) { [self] in open(peer, $0) } }
        let bootstrap = bootstrap(bindsSocket: true)
        do throws(NightjarError) {
            if let known = connector.resolver.known(peer.host, peer.port), known.count == 1 {
                let permitted = try connector.addresses.permitted(known, of: peer, reporting: reportDenied)
                if let address = permitted.first { return expect(bootstrap.connect(to: address)) }
            }
        } catch {
            return failed(error)
        }
        let clock = LookUpClock(connector.resolver, connector.addresses, peer)
        lookUp = clock
        clock.denied = { [weak self] addresses in self?.reportDenied(addresses) }
        clock.resolved = { [weak self] length in self?.report(.resolved(host: peer.host, length)) }
        let channel = bootstrap.resolver(clock).connect(host: peer.host, port: peer.port)
        channel.assumeIsolated().whenFailure { [connector] _ in connector.resolver.forget(peer.host, peer.port) }
        expect(channel)
    }

    /// Opens a socket to one of these addresses.
    private func open(_ peer: Peer, _ addresses: [SocketAddress]) {
        let bootstrap = bootstrap(bindsSocket: true)
        let channel =
            if addresses.count == 1, let address = addresses.first {
                bootstrap.connect(to: address)
            } else {
                bootstrap.resolver(FixedAddresses(addresses, on: connector.loop)).connect(
                    host: peer.host, port: peer.port)
            }
        channel.assumeIsolated().whenFailure { [connector] _ in connector.resolver.forget(peer.host, peer.port) }
        expect(channel)
    }

    private func expect(_ channel: EventLoopFuture<any Channel>) {
        channel.assumeIsolated().whenComplete { [self] result in
            switch result {
            case .success(let channel): opened(channel)
            case .failure(let error):
                failed(ConnectFailure.describe(error, host.connectedPeer))
            }
        }
    }

    private func opened(_ channel: any Channel) {
        guard isPending else { return channel.close(promise: nil) }
        self.channel = channel
        switch host.route {
        case .direct, .socket:
            finish(channel, SocketHandle(channel))
        case .forwarded(let proxy):
            connected(channel, usesTLS: proxy.kind == .https)
            let socket = SocketHandle(channel)
            if proxy.kind == .https {
                secure(channel, host.connectedPeer, socket) { [self] tls in complete(channel, nil, tls) }
            } else {
                complete(channel, socket, nil)
            }
        case .tunnelled(let proxy) where proxy.kind == .https:
            secure(channel, host.connectedPeer, SocketHandle(channel)) { [self] _ in
                requestTunnel(channel, proxy, nil)
            }
        case .tunnelled(let proxy):
            requestTunnel(channel, proxy, SocketHandle(channel))
        }
    }

    /// Records that data can be exchanged with the origin, or with the proxy that forwards requests.
    private func connected(_ channel: any Channel, usesTLS: Bool) {
        let length = opening.connected(resolved: lookUp?.resolvedAt ?? resolvedAt, usesTLS: usesTLS)
        report(.connected(peer: channel.remoteAddress?.peer, length))
    }

    // MARK: The tunnel

    /// - Parameter socket: The channel's socket; nil if the connection to the proxy uses TLS.
    private func requestTunnel(_ channel: any Channel, _ proxy: ProxyAddress, _ socket: SocketHandle?) {
        let machine: TunnelHandshake.Machine
        switch proxy.kind {
        case .http, .https:
            machine = .connect(ConnectTunnel(to: host.origin, through: proxy, userAgent: connector.userAgent))
        case .socks5, .socks5h:
            machine = .socks(SOCKS5(to: host.origin, address: addresses.popFirst()?.ipAddress, through: proxy))
        }
        let handshake = TunnelHandshake(machine, with: host.connectedPeer) { [self] result in
            do throws(NightjarError) {
                try result.get()
                guard isPending else { return }
                finish(channel, socket)
            } catch {
                tunnelFailed(error, channel)
            }
        }
        add(handshake, to: channel)
    }

    private func tunnelFailed(_ error: NightjarError, _ channel: any Channel) {
        // An error with a code may concern only this address, so the next address of the origin is tried.
        guard error.code != 0, !addresses.isEmpty, isPending else { return fail(error, channel) }
        channel.close(promise: nil)
        open()
    }

    // MARK: The origin

    /// Starts the origin's TLS if necessary. Called when the channel is connected to the host.origin.
    ///
    /// - Parameter socket: The channel's socket; nil if the channel already uses TLS. Data must then not be written
    ///   directly to the socket.
    private func finish(_ channel: any Channel, _ socket: SocketHandle?) {
        connected(channel, usesTLS: host.origin.isTLS)
        guard host.origin.isTLS else { return complete(channel, socket, nil) }
        secure(channel, Peer(host.origin), socket) { [self] tls in complete(channel, nil, tls) }
    }

    /// Performs a TLS handshake with a peer, which is the origin or a proxy. Before, checks the files of its client
    /// certificate for changes.
    private func secure(
        _ channel: any Channel, _ peer: Peer, _ socket: SocketHandle?, then: @escaping (TLSHandler) -> Void
    ) {
        guard connector.tls.identities.areInFiles(for: peer) else {
            return startHandshake(channel, peer, socket, then: then)
        }
        connector.tls.identities.check(for: peer) { [self] in
            guard isPending else { return }
            guard channel.isActive else { return fail(ConnectFailure.describe(nil, peer), channel) }
            startHandshake(channel, peer, socket, then: then)
        }
    }

    private func startHandshake(
        _ channel: any Channel, _ peer: Peer, _ socket: SocketHandle?, then: @escaping (TLSHandler) -> Void
    ) {
        let isRepeated = classicalPeer == peer.place
        let isClassical = isRepeated || connector.tls.isClassical(peer)
        do throws(NightjarError) {
            let request: HandshakeChallenges.Request? =
                connector.requestsDecisions
                ? { [self] subject, resume in
                    challenged(ConnectionChallenge(subject, from: peer, resume: resume))
                } : nil
            let handler = try connector.tls.handler(
                for: peer, socket: socket, isClassical: isClassical,
                protocols: peer.isProxy ? .http1 : host.versions, request: request
            ) {
                [self] handler, result in
                guard isPending else { return }
                switch result {
                case .success:
                    if isRepeated { connector.tls.rememberClassical(peer) }
                    then(handler)
                case .failure where handler.wasResetAtOnce && !isClassical && classicalPeer == nil:
                    classicalPeer = peer.place
                    channel.close(promise: nil)
                    begin()
                case .failure(let error): fail(error, channel)
                }
            }
            add(handler, to: channel)
        } catch {
            fail(error, channel)
        }
    }

    /// Ends the attempt with an open connection, which speaks the protocol that ALPN has chosen.
    private func complete(_ channel: any Channel, _ socket: SocketHandle?, _ tls: TLSHandler?) {
        guard isPending else { return }
        let details = host.origin.isTLS ? tls?.details : nil
        let isHTTP2 = host.versions.isHTTP2(chosen: details?.applicationProtocol)
        let record = opening.finished(
            channel.remoteAddress, details, isHTTP2 ? .http2 : .http1_1, http1Reason: host.http1Reason)
        if let length = record.tls { report(.secured(length)) }
        if isHTTP2 {
            let connection = HTTP2Connection(transport: transport, host: host, record: record, socket: socket, tls: tls)
            guard add(connection, to: channel) else { return }
            guard connection.session != nil else {
                return fail(NightjarError(.noMemory, "creating an HTTP/2 session failed", phase: .connect), channel)
            }
            if end() { transport.connected(self, connection) }
        } else {
            let connection = HTTP1Connection(transport: transport, host: host, record: record, socket: socket, tls: tls)
            guard add(connection, to: channel), end() else { return }
            transport.connected(self, connection)
        }
    }

    /// Adds a handler to the channel. If the channel has closed, fails the attempt and returns false.
    @discardableResult
    private func add(_ handler: any ChannelHandler, to channel: any Channel) -> Bool {
        do {
            try channel.pipeline.syncOperations.addHandler(handler)
            return true
        } catch {
            fail(error, channel)
            return false
        }
    }

    private func fail(_ error: any Error, _ channel: any Channel) {
        failed(ConnectFailure.describe(error, host.connectedPeer))
        channel.close(promise: nil)
    }
}
