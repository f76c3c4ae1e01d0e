import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The demo API: a server of HTTP/1.1 and HTTP/2 on loopback, for tutorials and tests.
///
/// The server runs on its own thread. Any thread may call its methods. A stopped server cannot be started again.
package final class DemoServer: Sendable {
    package enum StartError: Error, Equatable {
        case startedBefore
    }

    private enum Phase: Equatable {
        case new, running, stopping, stopped
    }

    private struct Running {
        let group: MultiThreadedEventLoopGroup
        let listener: any Channel
        let connections: NIOLoopBound<OpenConnections>
    }

    /// The time for responses in progress to complete when the server stops.
    private static let gracePeriod = TimeAmount.seconds(1)

    private let seed: UInt64
    private let ledger = Ledger()
    private let phase = ConditionLock(value: Phase.new)
    private let running = NIOLockedValueBox<Running?>(nil)

    /// Creates a server. Equal seeds give equal initial data.
    package init(seed: UInt64 = 1) {
        self.seed = seed
    }

    deinit {
        stop()
    }

    /// The traffic since the start or the last reset. Also available after ``stop()``.
    package var statistics: DemoStatistics { ledger.statistics }

    /// Resets all counters. Open connections remain counted as open.
    package func resetStatistics() { ledger.reset() }

    /// Starts the server. Blocks until the port is bound.
    ///
    /// - Parameter port: 0 lets the system choose a free port.
    /// - Returns: the port.
    package func start(host: String = "127.0.0.1", port: Int = 0) throws -> Int {
        guard phase.lock(whenValue: .new, timeoutSeconds: 0) else { throw StartError.startedBefore }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let bound = try listen(on: group, host: host, port: port)
            running.withLockedValue { $0 = bound }
            phase.unlock(withValue: .running)
            return bound.listener.localAddress?.port ?? port
        } catch {
            try? group.syncShutdownGracefully()
            phase.unlock(withValue: .new)
            throw error
        }
    }

    /// Stops listening, waits up to a second for responses in progress, and closes all connections. Blocks until the
    /// server's thread has ended. Has no effect if the server is not running.
    package func stop() {
        guard phase.lock(whenValue: .running, timeoutSeconds: 0) else { return }
        phase.unlock(withValue: .stopping)
        guard let running = running.withLockedValue({ $0.take() }) else { return }
        try? running.listener.close().wait()
        let drained = running.group.next().flatSubmit {
            running.connections.value.drain(within: DemoServer.gracePeriod)
        }
        try? drained.wait()
        try? running.group.syncShutdownGracefully()
        phase.lock()
        phase.unlock(withValue: .stopped)
    }

    /// Blocks until another thread has stopped the server.
    package func waitUntilStopped() {
        phase.lock(whenValue: .stopped)
        phase.unlock()
    }

    private func listen(on group: MultiThreadedEventLoopGroup, host: String, port: Int) throws -> Running {
        let loop = group.next()
        let (seed, ledger) = (seed, ledger)
        let (site, connections) = try loop.submit {
            (
                NIOLoopBound(Site(seed: seed, ledger: ledger), eventLoop: loop),
                NIOLoopBound(OpenConnections(loop: loop), eventLoop: loop)
            )
        }.wait()
        let listener = try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.writeBufferWaterMark, value: .init(low: 64 * 1024, high: 256 * 1024))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    connections.value.add(channel)
                    let pipeline = channel.pipeline.syncOperations
                    let record = ConnectionRecord()
                    try pipeline.addHandler(ByteCounter(ledger: ledger, record: record))
                    try pipeline.addHandler(ProtocolDetector(site: site.value, record: record))
                }
            }
            .bind(host: host, port: port)
            .wait()
        return Running(group: group, listener: listener, connections: connections)
    }
}

/// The open connections of a server, which are closed when it stops. Used only on the server's event loop.
private final class OpenConnections {
    private let loop: any EventLoop
    private var channels: [ObjectIdentifier: any Channel] = [:]
    private var drained: EventLoopPromise<Void>?

    init(loop: any EventLoop) {
        self.loop = loop
    }

    func add(_ channel: any Channel) {
        let id = ObjectIdentifier(channel)
        channels[id] = channel
        channel.closeFuture.assumeIsolated().whenComplete { [self] _ in
            channels[id] = nil
            if channels.isEmpty { drained?.succeed() }
        }
    }

    /// Closes idle connections immediately and busy connections after their response. Closes any remaining connections
    /// after `gracePeriod`.
    func drain(within gracePeriod: TimeAmount) -> EventLoopFuture<Void> {
        let promise = loop.makePromise(of: Void.self)
        guard !channels.isEmpty else {
            promise.succeed()
            return promise.futureResult
        }
        drained = promise
        for channel in channels.values {
            channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
        }
        loop.assumeIsolated().scheduleTask(in: gracePeriod) { [self] in
            for channel in channels.values { channel.close(promise: nil) }
        }
        return promise.futureResult
    }
}
