import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOSSL
import NIOTLS

/// The TLS that a ``ScriptedPeer`` speaks.
public struct PeerTLS: Sendable {
    public var certificate: TestCertificates.Kind
    /// What ALPN may agree on, the preferred one first.
    public var applicationProtocols: [String]
    public var versions: ClosedRange<TLSVersion>

    public init(
        _ certificate: TestCertificates.Kind = .trusted, applicationProtocols: [String] = [],
        versions: ClosedRange<TLSVersion> = .tlsv12...(.tlsv13)
    ) {
        self.certificate = certificate
        self.applicationProtocols = applicationProtocols
        self.versions = versions
    }

    func configuration() throws -> TLSConfiguration {
        let certificates = try TestCertificates.shared()
        let chain = try NIOSSLCertificate.fromPEMFile(certificates.certificate(certificate))
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificates.key, format: .pem)))
        configuration.applicationProtocols = applicationProtocols
        configuration.minimumTLSVersion = versions.lowerBound
        configuration.maximumTLSVersion = versions.upperBound
        return configuration
    }
}

extension TLSVersion: @retroactive Comparable {
    private var rank: Int { [TLSVersion.tlsv1, .tlsv11, .tlsv12, .tlsv13].firstIndex(of: self) ?? 0 }

    public static func < (a: TLSVersion, b: TLSVersion) -> Bool { a.rank < b.rank }
}

/// How a client's handshake with a ``ScriptedPeer`` went.
public struct PeerHandshake: Sendable, Equatable {
    /// The name that the client sent in the clear (RFC 6066 section 3); nil where it sent none, as for an address.
    public internal(set) var serverName: String?
    /// The protocol that ALPN agreed on.
    public internal(set) var applicationProtocol: String?
    /// What the peer's TLS said when the handshake did not succeed, such as the client's alert; nil when it did.
    public internal(set) var failure: String?
}

/// What a script plays on: a plain socket, or one with TLS.
protocol PeerStream: AnyObject {
    func receive(within limit: Duration) throws -> [UInt8]
    func send(_ bytes: Bytes, within limit: Duration) throws
    /// Ends our side in good order and leaves the other open.
    func shutdownOutput()
    /// Ends in good order.
    func close()
}

extension Socket: PeerStream {
    func receive(within limit: Duration) throws -> [UInt8] { try receive(atMost: 64 * 1024, within: limit) }
}

/// TLS on a blocking socket: NIOSSL's handler in a channel without a loop, fed by hand. It does nothing that the script
/// has not asked for, so a peer that stalls stalls under TLS, too.
final class TLSStream: PeerStream {
    private let socket: Socket
    private let channel: EmbeddedChannel
    private let watch = HandshakeWatch()

    init(_ socket: Socket, _ configuration: TLSConfiguration) throws {
        self.socket = socket
        var configuration = configuration
        let serverName = watch.serverName
        configuration.sslContextCallback = { values, promise in
            serverName.withLockedValue { $0 = values.serverHostname }
            promise.succeed(.noChanges)
        }
        let handler = NIOSSLServerHandler(context: try NIOSSLContext(configuration: configuration))
        channel = EmbeddedChannel(handlers: [handler, watch])
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// Waits for the client's part. A handshake that fails is a result and not an error.
    func handshake(within limit: Duration) throws -> PeerHandshake {
        var handshake = PeerHandshake()
        do {
            while !watch.isComplete {
                guard try step(within: limit) else {
                    handshake.failure = "the client closed"
                    break
                }
            }
        } catch let error as Socket.WaitError {
            throw error
        } catch {
            try? sendPending(within: limit)
            handshake.failure = "\(error)"
        }
        handshake.serverName = watch.serverName.withLockedValue { $0 }
        handshake.applicationProtocol = watch.applicationProtocol
        return handshake
    }

    func receive(within limit: Duration) throws -> [UInt8] {
        while true {
            if let buffer = try channel.readInbound(as: ByteBuffer.self) { return Array(buffer.readableBytesView) }
            guard try step(within: limit) else { return [] }
        }
    }

    func send(_ bytes: Bytes, within limit: Duration) throws {
        channel.writeAndFlush(ByteBuffer(bytes: bytes.array), promise: nil)
        try sendPending(within: limit)
    }

    func shutdownOutput() {
        channel.close(mode: .output, promise: nil)
        try? sendPending(within: .seconds(1))
        socket.shutdownOutput()
    }

    func close() {
        if channel.isActive {
            channel.close(promise: nil)
            try? sendPending(within: .seconds(1))
        }
        // NIOSSL waits for the client's goodbye, and for as long keeps the channel.
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        socket.close()
    }

    /// Feeds what comes next from the socket.
    ///
    /// - Returns: false when the client has ended its side, with TLS's goodbye or without.
    private func step(within limit: Duration) throws -> Bool {
        guard channel.isActive else { return false }
        let bytes = try socket.receive(within: limit)
        guard !bytes.isEmpty else { return false }
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        channel.embeddedEventLoop.run()
        try channel.throwIfErrorCaught()
        try sendPending(within: limit)
        return true
    }

    private func sendPending(within limit: Duration) throws {
        channel.embeddedEventLoop.run()
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) {
            try socket.send(Bytes(buffer.readableBytesView), within: limit)
        }
    }
}

/// Notes what TLS tells above itself.
private final class HandshakeWatch: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private(set) var isComplete = false
    private(set) var applicationProtocol: String?
    let serverName = NIOLockedValueBox<String?>(nil)

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted(let agreed) = event as? TLSUserEvent {
            isComplete = true
            applicationProtocol = agreed
        }
        context.fireUserInboundEventTriggered(event)
    }
}
