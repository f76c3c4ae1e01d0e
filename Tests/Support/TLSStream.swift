import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOSSL
import NIOTLS

/// The TLS settings of a ``ScriptedPeer``.
public struct PeerTLS: Sendable {
    public var certificate: TestCertificates.Kind
    /// The protocols for ALPN, in order of preference.
    public var applicationProtocols: [String]
    public var versions: ClosedRange<TLSVersion>
    /// A PEM file of the authorities of client certificates, which are then required. Nil: none is requested.
    public var clientAuthorities: String?

    public init(
        _ certificate: TestCertificates.Kind = .trusted, applicationProtocols: [String] = [],
        versions: ClosedRange<TLSVersion> = .tlsv12...(.tlsv13), clientAuthorities: String? = nil
    ) {
        self.certificate = certificate
        self.applicationProtocols = applicationProtocols
        self.versions = versions
        self.clientAuthorities = clientAuthorities
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
        if let clientAuthorities {
            configuration.trustRoots = .file(clientAuthorities)
            configuration.certificateVerification = .noHostnameVerification
        }
        return configuration
    }
}

extension TLSVersion: @retroactive Comparable {
    private var rank: Int { [TLSVersion.tlsv1, .tlsv11, .tlsv12, .tlsv13].firstIndex(of: self) ?? 0 }

    public static func < (a: TLSVersion, b: TLSVersion) -> Bool { a.rank < b.rank }
}

/// The result of a client's handshake with a ``ScriptedPeer``.
public struct PeerHandshake: Sendable, Equatable {
    /// The server name sent by the client (RFC 6066 section 3). Nil if the client sent none, as for an IP address.
    public internal(set) var serverName: String?
    /// The protocol negotiated with ALPN.
    public internal(set) var applicationProtocol: String?
    /// The error of the handshake, such as the client's alert; nil if the handshake succeeded.
    public internal(set) var failure: String?
}

/// The stream on which a script runs: a plain socket or TLS.
protocol PeerStream: AnyObject {
    func receive(within limit: Duration) throws -> [UInt8]
    func send(_ bytes: Bytes, within limit: Duration) throws
    /// Closes the local half, with a close_notify alert if TLS is used, and leaves the peer's half open.
    func shutdownOutput()
    /// Closes the connection, with a close_notify alert if TLS is used.
    func close()
}

extension Socket: PeerStream {
    func receive(within limit: Duration) throws -> [UInt8] { try receive(atMost: 64 * 1024, within: limit) }
}

/// TLS on a blocking socket: NIOSSL's handler in an embedded channel, driven manually.
///
/// It reads and writes only during a step of the script, so a stalled peer also stalls with TLS.
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

    /// Performs the handshake. A failed handshake is returned and not thrown.
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
        // NIOSSL waits for the client's close_notify until a timeout. The advanced time triggers this timeout.
        channel.embeddedEventLoop.advanceTime(by: .hours(1))
        socket.close()
    }

    /// Passes the next data from the socket to TLS.
    ///
    /// - Returns: False if the client has closed its half, with or without close_notify.
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

/// Records the end and the results of the handshake.
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
