import NIOCore
import NightjarCrypto
import NightjarHTTP
import NightjarSystem

/// Encrypts and decrypts the data of one channel. Performs the handshake when it is added to an active channel.
///
///     handshaking ──handshake complete──▶ open ──close_notify──▶ closed
///       │     ▲ └───────────────────────────┴──failure, end──▶ closed
///       ▼     │
///      waiting: for a decision of the caller; received bytes are kept
///
/// If the peer closes the connection without close_notify, later handlers receive an error before the channel becomes
/// inactive, because an attacker may have truncated the data (RFC 8446 section 6.1).
final class TLSHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Phase { case handshaking, waiting, open, closed }

    private let connection: TLSConnection
    private let peer: Peer
    private let client: TLSClient
    /// The key of the sessions that the server issues.
    private var sessionKey: String
    /// The decisions that the handshake still requires. Nil: none.
    private var challenges: HandshakeChallenges?
    /// The bytes that were received while the handshake waits.
    private var received = ByteBuffer()
    /// Called once with the result of the handshake, unless this side closes the channel before. On success, adds the
    /// next handlers.
    private var completion: ((TLSHandler, Result<Void, NightjarError>) -> Void)?
    private var phase = Phase.handshaking
    private var context: ChannelHandlerContext?
    /// The system socket, if this handler is directly above it.
    private let socket: SocketHandle?
    /// Whether the channel may hold written data that the socket has not accepted.
    private var mayHaveQueuedData = true
    /// Whether the peer has sent anything.
    private var hasReceived = false
    /// Whether the connection was reset before the peer sent anything.
    private(set) var wasResetAtOnce = false

    init(
        _ connection: TLSConnection, with peer: Peer, of client: TLSClient, sessionKey: String, socket: SocketHandle?,
        challenges: HandshakeChallenges?,
        completion: @escaping (TLSHandler, Result<Void, NightjarError>) -> Void
    ) {
        self.connection = connection
        self.peer = peer
        self.client = client
        self.sessionKey = sessionKey
        self.socket = socket
        self.challenges = challenges
        self.completion = completion
    }

    /// The results of the handshake. Must be read after the handshake.
    var details: TLSDetails { TLSDetails(connection) }
    /// The group of the key exchange. 0 if there is none. Must be read after the handshake.
    var group: UInt16 { connection.groupNumber }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { beginHandshake(context) }
    }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    private func beginHandshake(_ context: ChannelHandlerContext) {
        var nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        do throws(TLSFailure) {
            _ = try connection.handshake(&nothing)
            writeOutput(context)
        } catch {
            fail(error, context)
        }
    }

    // MARK: Receiving

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        hasReceived = true
        let buffer = unwrapInboundIn(data)
        guard phase != .waiting else { return keep(buffer, context) }
        receive(buffer, context)
    }

    private func receive(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        var end: Result<Void, TLSFailure>?
        let plaintext = buffer.withUnsafeReadableBytes { bytes in
            var input = bytes
            do throws(TLSFailure) {
                guard try continueHandshake(&input) else {
                    if phase == .waiting { received.writeBytes(input) }
                    return ByteBuffer()
                }
            } catch {
                end = .failure(error)
                return ByteBuffer()
            }
            return decrypt(input, context, &end)
        }
        // The sessions of a rejected connection must not be resumed.
        if phase == .open { client.store(connection.takeSessions(), for: sessionKey) }
        writeOutput(context)
        if plaintext.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(plaintext)) }
        switch end {
        case nil: break
        case .success: close(context)
        case .failure(let failure): fail(failure, context)
        }
    }

    /// Continues the handshake if it is not complete. Returns whether the connection is open.
    private func continueHandshake(_ input: inout UnsafeRawBufferPointer) throws(TLSFailure) -> Bool {
        guard phase == .handshaking else { return phase == .open }
        while try !connection.handshake(&input) {
            guard connection.isSuspended, !awaitDecision() else { return false }
            connection.resume(with: nil)
        }
        // A resumed connection has no new certificates to decide about.
        if challenges?.decidesTrust == true, !connection.isResumed, awaitDecision() { return false }
        challenges = nil
        phase = .open
        // The next handler usually sends data at once. The end of the handshake is part of the same write.
        completion.take()?(self, .success(()))
        return phase == .open
    }

    /// Decrypts received bytes.
    ///
    /// - Parameter end: Set to the result of the connection, if it has ended.
    private func decrypt(
        _ bytes: UnsafeRawBufferPointer, _ context: ChannelHandlerContext, _ end: inout Result<Void, TLSFailure>?
    ) -> ByteBuffer {
        var input = bytes
        // The decrypted data takes more space only if earlier reads contained the first part of the record.
        var plaintext = context.channel.allocator.buffer(capacity: bytes.count)
        do throws(TLSFailure) {
            while true {
                if plaintext.writableBytes == 0 {
                    plaintext.reserveCapacity(minimumWritableBytes: TLSHandler.recordSize)
                }
                let result = try plaintext.withUnsafeMutableWritableBytes { output throws(TLSFailure) in
                    try connection.decrypt(&input, into: output)
                }
                guard case .bytes(let count) = result else {
                    if result == .ended { end = .success(()) }
                    return plaintext
                }
                plaintext.moveWriterIndex(forwardBy: count)
                // If the output has space left, the connection holds no further decrypted data. A further call would
                // return `needsInput`. Such a call takes about a tenth of the instructions of TLS for a small response.
                if input.isEmpty, plaintext.writableBytes > 0 { return plaintext }
            }
        } catch {
            end = .failure(error)
            return plaintext
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        switch phase {
        case .handshaking, .waiting:
            phase = .closed
            let error =
                connection.lacksCertificate
                ? TLSError.missingCertificate(peer) : ConnectFailure.describe(nil, peer)
            completion.take()?(self, .failure(error))
        case .open:
            phase = .closed
            context.fireErrorCaught(TLSError.truncated)
        case .closed:
            break
        }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard phase == .handshaking || phase == .waiting else { return context.fireErrorCaught(error) }
        phase = .closed
        if let error = error as? IOError { wasResetAtOnce = error.errnoCode == ECONNRESET && !hasReceived }
        let error = (error as? IOError).map { TLSError.describe($0, peer) } ?? ConnectFailure.describe(error, peer)
        completion.take()?(self, .failure(error))
        context.close(promise: nil)
    }

    // MARK: Decisions

    /// Requests the next decision of the caller: first about the chain, then about the certificate.
    ///
    /// - Returns: False if no decision is needed.
    private func awaitDecision() -> Bool {
        guard let challenges else { return false }
        if challenges.decidesTrust {
            self.challenges?.decidesTrust = false
            phase = .waiting
            challenges.request(.serverTrust(details.chain)) { [weak self] in self?.decided($0) }
        } else if challenges.decidesCertificate, connection.isSuspended {
            self.challenges?.decidesCertificate = false
            phase = .waiting
            challenges.request(.clientCertificate(authorities: connection.acceptedAuthorities)) { [weak self] in
                self?.decided($0)
            }
        }
        return phase == .waiting
    }

    /// Continues the handshake with a decision. A decision after the end of the connection is ignored.
    private func decided(_ decision: ConnectionChallenge.Decision) {
        guard phase == .waiting, let context else { return }
        phase = .handshaking
        var chosen: ClientIdentity?
        switch decision {
        case .useDefault, .addresses: break
        case .certificate(let identity):
            guard connection.isSuspended else { break }
            chosen = identity
            sessionKey = client.choose(identity, for: peer)
        case .fail(let error): return reject(error, context)
        }
        if chosen == nil, connection.isSuspended, awaitDecision() { return }
        if connection.isSuspended { connection.resume(with: chosen) }
        let buffer = received
        received = ByteBuffer()
        receive(buffer, context)
    }

    /// Keeps bytes that were received while the handshake waits.
    private func keep(_ buffer: ByteBuffer, _ context: ChannelHandlerContext) {
        guard received.readableBytes + buffer.readableBytes <= TLSHandler.maximumReceived else {
            return fail(TLSFailure(.handshake, "the server sent data before the end of the handshake"), context)
        }
        received.writeImmutableBuffer(buffer)
    }

    private func reject(_ error: NightjarError, _ context: ChannelHandlerContext) {
        connection.close()
        writeOutput(context)
        phase = .closed
        completion.take()?(self, .failure(error))
        context.close(promise: nil)
    }

    // MARK: Sending

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        do throws(TLSFailure) {
            try encrypt(unwrapOutboundIn(data))
            mayHaveQueuedData = true
            context.write(wrapOutboundOut(takeOutput(context)), promise: promise)
        } catch {
            promise?.fail(TLSError.describe(error, peer, isOpen: phase == .open))
            fail(error, context)
        }
    }

    /// Sends bytes immediately. If possible, they are written directly to the socket, because the channel's write queue
    /// takes 8 % of the instructions of a request.
    func send(_ bytes: ByteBuffer) {
        guard let context, phase == .open else { return }
        do throws(TLSFailure) {
            try encrypt(bytes)
        } catch {
            return fail(error, context)
        }
        if let socket, !hasQueuedData(context) {
            let output = connection.pendingOutput
            let written = socket.write(output)
            if written == output.count { return connection.removeOutput() }
            var rest = takeOutput(context)
            rest.moveReaderIndex(forwardBy: written)
            mayHaveQueuedData = true
            return context.writeAndFlush(wrapOutboundOut(rest), promise: nil)
        }
        writeOutput(context)
    }

    private func encrypt(_ bytes: ByteBuffer) throws(TLSFailure) {
        guard phase == .open else { throw TLSFailure(.handshake, "the connection is not open") }
        try bytes.withUnsafeReadableBytes { bytes throws(TLSFailure) in try connection.encrypt(bytes) }
    }

    private func hasQueuedData(_ context: ChannelHandlerContext) -> Bool {
        guard mayHaveQueuedData else { return false }
        mayHaveQueuedData = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) != 0
        return mayHaveQueuedData
    }

    private func writeOutput(_ context: ChannelHandlerContext) {
        guard !connection.pendingOutput.isEmpty else { return }
        mayHaveQueuedData = true
        context.writeAndFlush(wrapOutboundOut(takeOutput(context)), promise: nil)
    }

    private func takeOutput(_ context: ChannelHandlerContext) -> ByteBuffer {
        let output = connection.pendingOutput
        var buffer = context.channel.allocator.buffer(capacity: output.count)
        buffer.writeBytes(output)
        connection.removeOutput()
        return buffer
    }

    // MARK: Ending

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if phase == .open {
            connection.close()
            writeOutput(context)
        }
        if mode != .output { phase = .closed }
        context.close(mode: mode, promise: promise)
    }

    private func close(_ context: ChannelHandlerContext) {
        close(context: context, mode: .all, promise: nil)
    }

    private func fail(_ failure: TLSFailure, _ context: ChannelHandlerContext) {
        guard phase != .closed else { return }
        let error = TLSError.describe(
            failure, peer, isOpen: phase == .open, rejection: connection.rejection)
        // A server of TLS 1.3 rejects a certificate after the handshake, also with an alert such as unknown_ca.
        if failure.isAlert { client.forgetChosenCertificate(of: peer) }
        // The peer receives the alert.
        writeOutput(context)
        phase = .closed
        if let completion = completion.take() {
            completion(self, .failure(error))
        } else {
            context.fireErrorCaught(error)
        }
        context.close(promise: nil)
    }

    private static let recordSize = 16 * 1024
    /// The peer sends little while it waits for the client's part of the handshake.
    private static let maximumReceived = 256 * 1024
}
