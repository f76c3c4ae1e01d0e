import Foundation

/// A server on 127.0.0.1, or at a unix socket, that plays a script for each connection and keeps what it was sent: the hostile peer of
/// the tests.
///
///     let peer = try ScriptedPeer([[.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Le"), .reset]])
///     ... a client talks to peer.port ...
///     #expect(peer.requests(0).first?.method == "GET")
///     #expect(peer.failures == [])
///
/// Each connection has a thread. A script that has come to its end closes its connection; ``stop()``, or the peer's
/// end, interrupts whatever a script waits for.
public final class ScriptedPeer: Sendable {
    /// One thing that the peer does. Steps that read record what they read.
    public indirect enum Step: Sendable {
        /// Reads a whole request: its head, and a body by Content-Length or chunks.
        case expectRequest
        /// Reads a request's head alone, so that the script can answer before the body.
        case expectHead
        /// Reads exactly that many bytes.
        case expectBytes(Int)
        /// Reads until the client ends its side.
        case expectClose
        case send(Bytes)
        /// Sends byte by byte.
        case sendSlowly(Bytes, every: Duration)
        /// Sends that many bytes of what it is given, and closes.
        case closeAfter(Int, of: Bytes)
        /// Sends noise, the same for the same seed.
        case garbage(seed: UInt64, count: Int)
        /// Neither reads nor writes until the client has gone or the peer is stopped.
        case stall
        case wait(Duration)
        /// Goes on when the test opens the latch.
        case waitFor(Latch)
        /// Opens the latch: tells the test that the script has come here.
        case open(Latch)
        /// Ends the peer's side (FIN) and leaves the client's open.
        case halfClose
        /// Closes with a FIN, under TLS behind its close_notify alert.
        case close
        /// Closes with a FIN alone, as an attacker could: under TLS the stream may have been cut (RFC 8446 section 6.1).
        case closeWithoutNotice
        /// Closes with an RST.
        case reset
        /// Connects to that port of this machine and passes on what comes from either side, until one ends: a proxy's part.
        case relay(to: Int)
        /// Plays these steps again and again, until the client ends its side before the first of them has read a byte.
        case untilClosed([Step])

        /// A whole answer with Content-Length.
        public static func respond(
            _ status: String = "200 OK", headers: [String] = [], body: Bytes = ""
        ) -> Step {
            let head = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.array.count)", "", ""]
            return .send(Bytes(Array(head.joined(separator: "\r\n").utf8)) + body)
        }
    }

    /// 0 at a unix socket.
    public let port: Int
    private let log = PeerLog()
    private let interruption = Latch()

    /// - Parameters:
    ///   - connections: the script of the first connection, of the second, and so on.
    ///   - repeatsLast: whether further connections play the last script again; otherwise they are a failure, and reset.
    ///   - path: of a unix socket to listen at, rather than at a port.
    ///   - tls: what the peer speaks beneath its scripts, which begin behind the handshake; harm to the handshake itself
    ///     is a script without TLS.
    ///   - patience: how long an expectation may take to come true before the script gives up.
    public init(
        _ connections: [[Step]], repeatsLast: Bool = false, at path: String? = nil, tls: PeerTLS? = nil,
        patience: Duration = .seconds(10)
    ) throws {
        let tls = try tls?.configuration()
        // The threads hold these and not the peer, so that a peer that nobody holds any more ends them.
        let (log, interruption) = (log, interruption)
        let listener: Socket
        if let path {
            listener = try Socket.listening(path: path, interruption: interruption)
        } else {
            listener = try Socket.listening(interruption: interruption)
        }
        port = path == nil ? listener.port : 0
        log.threadStarted()
        Thread.detachNewThread {
            defer { log.threadEnded() }
            while let socket = try? listener.accept(interruption: interruption) {
                let index = log.connectionAccepted()
                let script = index < connections.count ? connections[index] : repeatsLast ? connections.last : nil
                guard let script else {
                    log.failed("connection \(index) came without a script")
                    log.ended(index)
                    socket.reset()
                    continue
                }
                let performance = PeerPerformance(
                    socket: socket, tls: tls, connection: index, log: log, patience: patience,
                    interruption: interruption)
                log.threadStarted()
                Thread.detachNewThread {
                    performance.play(script)
                    log.threadEnded()
                }
            }
        }
    }

    deinit { interruption.open() }

    /// Interrupts all scripts, closes all connections and returns when no thread of the peer runs any more.
    public func stop() {
        interruption.open()
        log.waitForThreads()
    }

    // MARK: What has happened, counted from connection 0

    /// How many connections have been accepted.
    public var connectionCount: Int { log.connections.count }

    /// How many scripts have come to their end.
    public var endedCount: Int { log.connections.count { $0.hasEnded } }

    /// Everything that was read from that connection; nothing where there is no such connection.
    public func received(_ connection: Int) -> [UInt8] {
        log.connections.dropFirst(connection).first?.received ?? []
    }

    /// The requests that `expectRequest` and `expectHead` have read from that connection.
    public func requests(_ connection: Int) -> [ReceivedRequest] {
        log.connections.dropFirst(connection).first?.requests ?? []
    }

    /// The same of all connections.
    public var requests: [ReceivedRequest] { log.connections.flatMap(\.requests) }

    /// How the TLS handshake of that connection went; nil while it has not ended.
    public func handshake(_ connection: Int) -> PeerHandshake? {
        log.connections.dropFirst(connection).first?.handshake
    }

    /// Expectations that did not come true. A test ends by looking that there are none.
    public var failures: [String] { log.failures }
}
