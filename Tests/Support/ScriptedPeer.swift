import Foundation

/// A server that runs a script for each connection and records the received data. It listens on 127.0.0.1 or on a Unix
/// socket. Scripts inject faults such as truncated responses and resets.
///
///     let peer = try ScriptedPeer([[.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Le"), .reset]])
///     ... a client talks to peer.port ...
///     #expect(peer.requests(0).first?.method == "GET")
///     #expect(peer.failures == [])
///
/// Each connection has its own thread. The connection is closed at the end of its script. Calling ``stop()`` or
/// releasing the peer interrupts waiting scripts.
///
/// A client may use HTTP/2, with prior knowledge or with ALPN. Its streams are translated to HTTP/1.1 for the scripts, and
/// the responses of the scripts to HTTP/2. Each stream that runs while another one is in progress has a connection of its
/// own, as HTTP/1.1 would, on the same socket. ``HTTP2Front`` has the details.
public final class ScriptedPeer: Sendable {
    /// A step of a script. Steps that read data also record it.
    public indirect enum Step: Sendable {
        /// Reads a whole request: its head, and a body with Content-Length or chunked coding.
        case expectRequest
        /// Reads only the head of a request, so that the script can respond before the body.
        case expectHead
        /// Reads exactly the given number of bytes.
        case expectBytes(Int)
        /// Reads until the client closes its half of the connection.
        case expectClose
        case send(Bytes)
        /// Sends bytes on the socket, also if TLS is used.
        case sendUnencrypted(Bytes)
        /// Sends byte by byte.
        case sendSlowly(Bytes, every: Duration)
        /// Sends the first n bytes of the data and closes the connection.
        case closeAfter(Int, of: Bytes)
        /// Sends random bytes that depend only on the seed.
        case garbage(seed: UInt64, count: Int)
        /// Neither reads nor writes until the client disconnects or the peer is stopped.
        case stall
        case wait(Duration)
        /// Waits until the test opens the latch.
        case waitFor(Latch)
        /// Opens the latch, to notify the test that the script has reached this step.
        case open(Latch)
        /// Closes the peer's half of the connection (FIN) and leaves the client's half open.
        case halfClose
        /// Closes with a FIN. With TLS, sends a close_notify alert first.
        case close
        /// Closes with a FIN, but without a close_notify alert, as an attacker could (RFC 8446 section 6.1).
        case closeWithoutNotice
        /// Closes with an RST.
        case reset
        /// Connects to a port of this machine and relays data in both directions until one side closes, like a proxy.
        case relay(to: Int)
        /// Repeats these steps until the client closes its half of the connection between two repetitions.
        case untilClosed([Step])

        /// A whole response with Content-Length.
        public static func respond(
            _ status: String = "200 OK", headers: [String] = [], body: Bytes = ""
        ) -> Step {
            let head = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.array.count)", "", ""]
            return .send(Bytes(Array(head.joined(separator: "\r\n").utf8)) + body)
        }
    }

    /// 0 for a Unix socket.
    public let port: Int
    private let log = PeerLog()
    private let interruption = Latch()

    /// - Parameters:
    ///   - connections: The script of the first connection, of the second, and so on.
    ///   - repeatsLast: Whether further connections repeat the last script. If false, they are reset and reported as
    ///     failures.
    ///   - path: The path of a Unix socket to listen on, instead of a port.
    ///   - tls: The TLS settings. Scripts begin after the handshake. To test errors in the handshake, use a script
    ///     without TLS.
    ///   - maximumWait: The timeout of each read and each write of a step.
    public init(
        _ connections: [[Step]], repeatsLast: Bool = false, at path: String? = nil, tls: PeerTLS? = nil,
        maximumWait: Duration = .seconds(10)
    ) throws {
        let tls = try tls.map { try TLSStreamContext($0) }
        // The threads retain these objects and not the peer, so releasing the peer ends the threads.
        let (log, interruption) = (log, interruption)
        let scripts = PeerScripts(connections, repeatsLast: repeatsLast, log: log)
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
                log.socketAccepted(from: socket.peerAddress)
                guard let (index, script) = scripts.next() else {
                    scripts.missing()
                    socket.reset()
                    continue
                }
                PeerPerformance(
                    socket: socket, tls: tls, connection: index, log: log, scripts: scripts, maximumWait: maximumWait,
                    interruption: interruption
                ).start(script)
            }
        }
    }

    deinit { interruption.open() }

    /// Interrupts all scripts, closes all connections and waits until the peer's threads have ended.
    public func stop() {
        interruption.open()
        log.waitForThreads()
    }

    // MARK: Results; connections are numbered from 0

    /// The number of connections with a script. With HTTP/2, several of them can share a socket.
    public var connectionCount: Int { log.connections.count }

    /// The number of accepted sockets.
    public var socketCount: Int { log.socketCount }

    /// The IPv4 address of the client of each accepted socket.
    public var clientAddresses: [String] { log.clientAddresses }

    /// The number of connections that have ended.
    public var endedCount: Int { log.connections.count { $0.hasEnded } }

    /// All bytes that were read from a connection; empty if the connection does not exist.
    public func received(_ connection: Int) -> [UInt8] {
        log.connections.dropFirst(connection).first?.received ?? []
    }

    /// The requests that `expectRequest` and `expectHead` have read from a connection.
    public func requests(_ connection: Int) -> [ReceivedRequest] {
        log.connections.dropFirst(connection).first?.requests ?? []
    }

    /// The requests of all connections.
    public var requests: [ReceivedRequest] { log.connections.flatMap(\.requests) }

    /// The result of a connection's TLS handshake; nil without TLS or before the handshake has ended.
    public func handshake(_ connection: Int) -> PeerHandshake? {
        log.connections.dropFirst(connection).first?.handshake
    }

    /// Unmet expectations, errors and unexpected connections. Tests check at their end that this list is empty.
    public var failures: [String] { log.failures }
}
