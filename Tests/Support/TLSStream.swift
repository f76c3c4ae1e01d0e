import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOSSL
import NIOTLS

/// The TLS settings of a ``ScriptedPeer``.
public struct PeerTLS: Sendable {
    public var certificate: TestCertificates.Kind
    /// The protocols for ALPN, in order of preference. If empty, none with HTTP/1.1, and `h2` and `http/1.1` with HTTP/2.
    public var applicationProtocols: [String]
    public var versions: ClosedRange<TLSVersion>
    /// A PEM file of the authorities of client certificates, which are then required. Nil: none is requested.
    public var clientAuthorities: String?
    /// The cipher suites of TLS 1.2 in OpenSSL's syntax. Nil: NIOSSL's default.
    public var cipherSuites: String?
    /// Whether X25519 is the only group of the key exchange. By default, X25519MLKEM768 is preferred.
    public var isClassical = false
    /// The end of each connection after a number of bytes that the server has sent, during the handshake or later.
    public var fault: Fault?

    /// The end of a connection.
    public struct Fault: Sendable {
        public enum Kind: Sendable, CaseIterable {
            /// A FIN without a close_notify alert.
            case close
            case reset
            /// Nothing more is sent until the client closes.
            case stall
        }

        public var kind: Kind
        /// The number of encrypted bytes that are sent first.
        public var position: Int

        public init(_ kind: Kind, after position: Int) {
            self.kind = kind
            self.position = position
        }
    }

    public init(
        _ certificate: TestCertificates.Kind = .trusted, applicationProtocols: [String] = [],
        versions: ClosedRange<TLSVersion> = .tlsv12...(.tlsv13), cipherSuites: String? = nil,
        fault: Fault? = nil, clientAuthorities: String? = nil
    ) {
        self.certificate = certificate
        self.cipherSuites = cipherSuites
        self.fault = fault
        self.applicationProtocols = applicationProtocols
        self.versions = versions
        self.clientAuthorities = clientAuthorities
    }

    /// Returns the range with only the version `1.2` or `1.3`.
    public static func versions(_ name: String) -> ClosedRange<TLSVersion> {
        name == "1.2" ? .tlsv12...(.tlsv12) : .tlsv13...(.tlsv13)
    }

    func configuration() throws -> TLSConfiguration {
        let certificates = try TestCertificates.shared()
        let chain = try NIOSSLCertificate.fromPEMFile(certificates.certificate(certificate))
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificates.key(certificate), format: .pem)))
        let isDefault = TestHTTP.isHTTP2 && applicationProtocols.isEmpty
        configuration.applicationProtocols = isDefault ? ["h2", "http/1.1"] : applicationProtocols
        if isClassical { configuration.curves = [.x25519] }
        if let cipherSuites { configuration.cipherSuites = cipherSuites }
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

/// The TLS settings and session keys that the connections of a ``ScriptedPeer`` share.
final class TLSStreamContext: Sendable {
    fileprivate let context: NIOSSLContext
    fileprivate let fault: PeerTLS.Fault?
    /// The server name of the handshake on this thread. Each connection has its own thread.
    @TaskLocal fileprivate static var serverName = NIOLockedValueBox<String?>(nil)

    init(_ tls: PeerTLS) throws {
        var configuration = try tls.configuration()
        configuration.sslContextCallback = { values, promise in
            TLSStreamContext.serverName.withLockedValue { $0 = values.serverHostname }
            promise.succeed(.noChanges)
        }
        context = try NIOSSLContext(configuration: configuration)
        fault = tls.fault
    }
}

/// TLS on a blocking socket: NIOSSL's handler in an embedded channel, driven manually.
///
/// It reads and writes only during a step of the script, so a stalled peer also stalls with TLS. The channel belongs to a
/// thread of its own, because the scripts of an HTTP/2 connection write on several threads.
final class TLSStream: PeerStream {
    private let socket: Socket
    private let thread = WorkThread()
    /// Nil only during deinitialization, because the thread also has to release the channel.
    private var ownedChannel: EmbeddedChannel?
    private let watch = HandshakeWatch()
    private let fault: PeerTLS.Fault?
    private var sentCount = 0
    /// Decrypted data that ``waitForData()`` has found.
    private var found: ByteBuffer?

    /// The connection has ended at the position of its fault.
    struct Ended: Error {}

    init(_ socket: Socket, _ context: TLSStreamContext) throws {
        self.socket = socket
        fault = context.fault
        let watch = watch
        ownedChannel = try thread.run {
            let channel = EmbeddedChannel(handlers: [NIOSSLServerHandler(context: context.context), watch])
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
            return channel
        }
    }

    deinit {
        try? thread.run {
            // The handlers of an open channel retain one another.
            _ = try? ownedChannel?.finish(acceptAlreadyClosed: true)
            ownedChannel = nil
        }
    }

    private var channel: EmbeddedChannel {
        guard let ownedChannel else { preconditionFailure("the stream was released") }
        return ownedChannel
    }

    /// Performs the handshake. A failed handshake is returned and not thrown.
    func handshake(within limit: Duration) throws -> PeerHandshake {
        try thread.run {
            try TLSStreamContext.$serverName.withValue(watch.serverName) { try performHandshake(within: limit) }
        }
    }

    private func performHandshake(within limit: Duration) throws -> PeerHandshake {
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
        } catch let error as Ended {
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
        try thread.run {
            while true {
                if let bytes = try decrypted() { return bytes }
                guard try step(within: limit) else { return [] }
            }
        }
    }

    func receiveAvailable() throws -> [UInt8]? {
        try thread.run {
            if let bytes = try decrypted() { return bytes }
            guard channel.isActive else { return [] }
            guard let bytes = try socket.received(atMost: 64 * 1024) else { return nil }
            guard !bytes.isEmpty else { return [] }
            try pass(bytes, within: .seconds(10))
            return try decrypted()
        }
    }

    /// Returns the decrypted data that was not read; nil if there is none.
    private func decrypted() throws -> [UInt8]? {
        var all = found.take().map { Array($0.readableBytesView) } ?? []
        while let buffer = try channel.readInbound(as: ByteBuffer.self) { all += buffer.readableBytesView }
        return all.isEmpty ? nil : all
    }

    func waitForData() throws {
        let isFound = try thread.run {
            found = try found ?? channel.readInbound(as: ByteBuffer.self)
            return found != nil
        }
        if !isFound { try socket.wait(for: POLLIN, within: nil) }
    }

    func waitForEnd() throws { try socket.waitForEnd() }

    func send(_ bytes: Bytes, within limit: Duration) throws {
        try thread.run {
            channel.writeAndFlush(ByteBuffer(bytes: bytes.array), promise: nil)
            try sendPending(within: limit)
        }
    }

    func sendUnencrypted(_ bytes: Bytes, within limit: Duration) throws { try socket.send(bytes, within: limit) }

    func shutdownOutput() {
        try? thread.run {
            channel.close(mode: .output, promise: nil)
            try sendPending(within: .seconds(1))
        }
        socket.shutdownOutput()
    }

    func close() {
        try? thread.run {
            if channel.isActive {
                channel.close(promise: nil)
                try? sendPending(within: .seconds(1))
            }
            // NIOSSL waits for the client's close_notify until a timeout. The advanced time triggers this timeout.
            channel.embeddedEventLoop.advanceTime(by: .hours(1))
        }
        socket.close()
    }

    func closeWithoutNotice() { socket.close() }
    func reset() { socket.reset() }

    /// Passes the next data from the socket to TLS.
    ///
    /// - Returns: False if the client has closed its half, with or without close_notify.
    private func step(within limit: Duration) throws -> Bool {
        guard channel.isActive else { return false }
        let bytes = try socket.receive(within: limit)
        guard !bytes.isEmpty else { return false }
        try pass(bytes, within: limit)
        return true
    }

    private func pass(_ bytes: [UInt8], within limit: Duration) throws {
        try channel.writeInbound(ByteBuffer(bytes: bytes))
        channel.embeddedEventLoop.run()
        try channel.throwIfErrorCaught()
        try sendPending(within: limit)
    }

    private func sendPending(within limit: Duration) throws {
        channel.embeddedEventLoop.run()
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) {
            try send(encrypted: Array(buffer.readableBytesView), within: limit)
        }
    }

    private func send(encrypted bytes: [UInt8], within limit: Duration) throws {
        guard let fault else { return try socket.send(Bytes(bytes), within: limit) }
        let rest = max(0, fault.position - sentCount)
        try socket.send(Bytes(bytes.prefix(rest)), within: limit)
        sentCount += bytes.count
        guard bytes.count > rest else { return }
        switch fault.kind {
        case .close: socket.close()
        case .reset: socket.reset()
        case .stall: try socket.wait(for: Socket.peerEnded, within: nil)
        }
        throw Ended()
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
