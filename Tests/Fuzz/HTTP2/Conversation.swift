import NIOCore
import NIOEmbedded

@testable import NightjarHTTP
@testable import NightjarTransport

/// One transport, its callers and its servers.
final class Conversation {
    private let transport: NetworkTransport
    private let settings: UInt8
    private let loop = EmbeddedEventLoop()
    private var callers: [Caller] = []
    private var servers: [Server] = []
    /// Whether all bodies have the bytes of ``Server/body(from:_:)``.
    private(set) var sendsPatterns = true

    init(_ gate: Gate, _ settings: UInt8) {
        self.settings = settings
        var configuration = TransportConfiguration()
        configuration.versions = settings & 4 == 0 ? [.http2] : [.http1_1, .http2]
        if settings & 128 != 0 { configuration.connectionsPerHost = 1 }
        do {
            // The lookup for the proxy keeps each attempt pending, until connect() provides its channel.
            configuration.proxy = ProxySettings(.address(try ProxyAddress("socks5://127.0.0.1:1")))
            transport = try NetworkTransport(loop: FuzzHTTP2.loop, configuration: configuration) { _, _ in
                gate.pass()
                return []
            }
        } catch {
            fatalError("\(error)")
        }
    }

    // MARK: Exchanges

    func begin(_ kind: UInt8, _ behaviour: UInt8) {
        guard callers.count < Conversation.maximumExchanges else { return }
        let caller = Caller(kind, behaviour, self)
        callers.append(caller)
        guard let request = request(caller.kind) else { return require(false, "the request is invalid") }
        caller.exchange = transport.begin(request, connectTimeout: .seconds(1), receiver: caller)
    }

    private func request(_ kind: Caller.Kind) -> PreparedRequest? {
        let (method, body): (Method, RequestBody) =
            switch kind {
            case .get: (.get, .none)
            case .head: (.head, .none)
            case .stream, .expecting: (.post, .stream(length: nil))
            case .streamOfLength: (.put, .stream(length: Caller.length))
            case .bytes: (.post, .bytes(Conversation.body))
            case .put: (.put, .bytes(ByteBuffer(repeating: 98, count: 10)))
            case .upgrade: (.get, .upgrade)
            }
        var request = Request(method, settings & 4 == 0 ? "http://h.test/" : "https://h.test/")
        request.body = body
        request.expectsContinue = kind == .expecting
        return try? PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
    }

    // MARK: Connections

    /// Opens the connection of the oldest attempt.
    private func connect() {
        guard let attempt = oldestAttempt else { return }
        guard attempt.host.versions != .http1, servers.count < 8 else { return attempt.failed(Conversation.failure) }
        guard let server = Server(attempt, transport, loop) else { return }
        servers.append(server)
        loop.run()
        guard settings & 1 != 0 else { return }
        var payload = ByteBuffer()
        if settings & 2 != 0 { payload.writeBytes([0, 8, 0, 0, 0, 1]) }
        server.frame(4, flags: 0, stream: 0, payload)
    }

    private var oldestAttempt: ConnectionAttempt? {
        transport.attempts.values.min { $0.ticket.number < $1.ticket.number }
    }

    func retireConnections() {
        for server in servers { server.connection.retire() }
    }

    // MARK: The input

    /// Passes the input to the client as the server's bytes, in parts of the size that the first byte has.
    func receiveRaw(_ input: inout Input) {
        sendsPatterns = false
        connect()
        let size = Int(input.byte())
        while !input.isEmpty {
            let part = input.bytes(size == 0 ? .max : size)
            servers.last?.pending.writeBytes(part)
            servers.last?.deliver()
            loop.run()
            while let attempt = oldestAttempt { attempt.failed(Conversation.failure) }
        }
    }

    /// Performs the records of the input.
    func perform(_ input: inout Input) {
        connect()
        for _ in 0..<Conversation.maximumRecords where !input.isEmpty {
            let record = input.byte()
            // The last connection is the most recent one; the others drain.
            let index = Int(record >> 5)
            let server = servers.isEmpty ? nil : servers[max(0, servers.count - 1 - index)]
            let kind = record & 31
            if let server, kind < 16 {
                if !server.write(kind, &input) { sendsPatterns = false }
            } else {
                act(kind, index, server, &input)
            }
            loop.run()
            for server in servers { server.readOutput() }
        }
        for server in servers { server.deliver() }
    }

    private func act(_ kind: UInt8, _ index: Int, _ server: Server?, _ input: inout Input) {
        let caller = callers.indices.contains(index) ? callers[index] : nil
        switch kind {
        case 16: server?.deliver()
        case 17: caller?.pause()
        case 18:
            // The held bytes are consumed at one time, so that the window grows.
            transport.clock.hold()
            caller?.resume()
            transport.clock.release()
        case 19: caller?.cancel()
        case 20: caller?.send(input.integer() << 2)
        case 21: caller?.endBody()
        case 22: begin(input.byte(), input.byte())
        case 23: connect()
        case 24: oldestAttempt?.failed(Conversation.failure)
        case 25: loop.advanceTime(by: .milliseconds(Int64(input.byte()) * 200))
        case 26:
            server?.channel.isWritable = index & 1 == 0
            server?.channel.pipeline.fireChannelWritabilityChanged()
        case 27: server?.channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "read"))
        case 28: _ = try? server?.channel.finish(acceptAlreadyClosed: true)
        case 29: _ = server?.connection.ping()
        case 30: server?.connection.retire()
        default: for caller in callers { _ = caller.exchange.map { ($0.unsentBytes, $0.sentBytes) } }
        }
    }

    // MARK: The end

    /// Closes all connections. Each exchange must have ended then. Returns the objects that must not outlive the
    /// conversation.
    func finish() -> [Weak] {
        loop.run()
        for server in servers {
            server.channel.isWritable = true
            server.channel.pipeline.fireChannelWritabilityChanged()
            server.readOutput()
        }
        checkOutput()
        while true {
            for server in servers { _ = try? server.channel.finish(acceptAlreadyClosed: true) }
            for caller in callers { for _ in 0..<1000 where !caller.hasEnded { caller.resume() } }
            loop.run()
            guard let attempt = oldestAttempt else { break }
            attempt.failed(Conversation.failure)
        }
        for (index, caller) in callers.enumerated() {
            require(caller.hasEnded, "exchange \(index) (\(caller.kind)) did not end")
        }
        transport.shutDown()
        let objects =
            servers.map { Weak(object: $0.connection) }
            + callers.compactMap { $0.exchange.map { exchange in Weak(object: exchange) } }
        for caller in callers { caller.exchange = nil }
        return objects
    }

    private func checkOutput() {
        let received = servers.reduce(0) { $0 + $1.receivedBytes }
        let written = servers.reduce(0) { $0 + $1.frameBytes }
        let content = servers.reduce(0) { $0 + $1.dataBytes }
        let sent = callers.reduce(0) { $0 + $1.sentBytes + Conversation.bodySize }
        // A request may be repeated as often as a server sends GOAWAY, and its frames have at least one byte.
        let limit = 1000 + servers.count * (100 + callers.count * 400) + 4 * received
        require(content <= max(servers.count, 1) * sent, "\(content) bytes of bodies, of which \(sent) were supplied")
        require(written <= limit + 10 * content, "\(written) bytes of frames after \(received) received bytes")
    }

    private static let failure = NightjarError(.connect, "connecting failed", phase: .connect)
    private static let maximumExchanges = 12
    private static let maximumRecords = 1000
    private static let bodySize = 200_000
    private static let body = ByteBuffer(repeating: 98, count: bodySize)
}
