import Foundation
import Glibc

/// A server that runs a function for each HTTP/2 connection. The function sends and receives frames.
///
///     let peer = try HTTP2Peer([{ connection in
///         let request = try connection.request()
///         try connection.respond(request.stream, body: "hello")
///         try connection.readToEnd()
///     }])
///
/// ``ScriptedPeer`` translates HTTP/2 to scripts of HTTP/1.1. This peer is for behaviour that only HTTP/2 has.
public final class HTTP2Peer: Sendable {
    public typealias Script = @Sendable (HTTP2PeerConnection) throws -> Void

    public let port: Int
    private let log = PeerLog()
    private let interruption = Latch()

    /// - Parameters:
    ///   - scripts: The function of the first connection, of the second, and so on. Further connections are failures.
    ///   - settings: The settings that each connection sends first.
    public init(_ scripts: [Script], settings: [(HTTP2Frame.Setting, Int)] = []) throws {
        let (log, interruption) = (log, interruption)
        let listener = try Socket.listening(interruption: interruption)
        port = listener.port
        log.threadStarted()
        Thread.detachNewThread {
            defer { log.threadEnded() }
            while let socket = try? listener.accept(interruption: interruption) {
                let index = log.connectionAccepted()
                guard index < scripts.count else {
                    log.failed("connection \(index) came without a script")
                    continue
                }
                log.threadStarted()
                Thread.detachNewThread {
                    let connection = HTTP2PeerConnection(socket)
                    do {
                        try connection.start(settings)
                        try scripts[index](connection)
                    } catch Socket.WaitError.interrupted {
                        // The test is over.
                    } catch {
                        log.failed("connection \(index): \(error)")
                    }
                    socket.close()
                    log.ended(index)
                    log.threadEnded()
                }
            }
        }
    }

    deinit { interruption.open() }

    public func stop() {
        interruption.open()
        log.waitForThreads()
    }

    public var connectionCount: Int { log.connections.count }
    public var endedCount: Int { log.connections.count { $0.hasEnded } }
    /// Errors and unexpected connections. Tests check at their end that this list is empty.
    public var failures: [String] { log.failures }
}

/// A connection of an ``HTTP2Peer``. Only the thread of its function may use it.
public final class HTTP2PeerConnection {
    public struct Request: Sendable {
        public let stream: Int
        public let fields: [HTTP2FrameReader.Field]
        /// Whether the request has no body.
        public let ends: Bool
        /// The number of HEADERS and CONTINUATION frames.
        public let frameCount: Int

        public subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }
    }

    /// The client has not sent what the function expects.
    public struct Failure: Error, CustomStringConvertible {
        public let description: String

        public init(_ description: String) { self.description = description }
    }

    private let socket: Socket
    private var reader = HTTP2FrameReader()
    /// Events that a function has skipped while it waited for another one.
    private var skipped: [HTTP2FrameReader.Event] = []
    /// The settings that the client has sent.
    public private(set) var settings: [HTTP2Frame.Setting: Int] = [:]
    /// The number of bytes that have been sent.
    public private(set) var sentCount = 0

    init(_ socket: Socket) { self.socket = socket }

    func start(_ settings: [(HTTP2Frame.Setting, Int)]) throws {
        var received: [UInt8] = []
        while received.count < HTTP2FrameReader.preface.count {
            let bytes = try socket.receive()
            guard !bytes.isEmpty else { throw Failure("the client closed before its preface") }
            received += bytes
        }
        guard received.starts(with: HTTP2FrameReader.preface) else { throw Failure("not HTTP/2") }
        reader.append(received.dropFirst(HTTP2FrameReader.preface.count))
        try send(.settings(settings))
    }

    // MARK: Sending

    public func send(_ frames: HTTP2Frame...) throws { try send(frames) }

    public func send(_ frames: [HTTP2Frame]) throws { try send(raw: frames.flatMap(\.bytes)) }

    public func send(raw bytes: [UInt8]) throws {
        try socket.send(Bytes(bytes))
        sentCount += bytes.count
    }

    public func head(
        _ stream: Int, _ status: Int = 200, _ fields: [(String, String)] = [], ends: Bool = false
    ) throws {
        let block = HTTP2FieldBlock.literals([(":status", String(status))] + fields)
        try send(HTTP2Frame.headers(stream, block: block, ends: ends))
    }

    public func respond(_ stream: Int, _ status: Int = 200, body: Bytes = "") throws {
        try head(stream, status)
        try send(.data(stream, body.array, ends: true))
    }

    // MARK: Receiving

    /// Returns the next request, or trailers.
    public func request() throws -> Request {
        let event = try event("a request") { if case .fields = $0 { true } else { false } }
        guard case .fields(let stream, let fields, let ends, let frames) = event else {
            throw Failure("not a request")
        }
        return Request(stream: stream, fields: fields, ends: ends, frameCount: frames)
    }

    /// Returns the next frame of a kind, and of a stream. Other frames are kept for later calls.
    public func frame(_ kind: HTTP2Frame.Kind, stream: Int? = nil) throws -> HTTP2Frame {
        let event = try event("a frame of kind \(kind.rawValue)") {
            guard case .frame(let frame) = $0, frame.kind == kind else { return false }
            return stream == nil || frame.stream == stream
        }
        guard case .frame(let frame) = event else { throw Failure("not a frame") }
        return frame
    }

    /// Returns the body of a request, up to END_STREAM. The window of the connection and of the stream are enlarged.
    public func body(_ stream: Int) throws -> [UInt8] {
        var body: [UInt8] = []
        while true {
            let frame = try frame(.data, stream: stream)
            body += frame.payload
            if frame.flags.contains(.endStream) { return body }
            if !frame.payload.isEmpty {
                try send(.windowUpdate(0, frame.payload.count), .windowUpdate(stream, frame.payload.count))
            }
        }
    }

    /// Waits until the client has processed all frames sent before.
    public func synchronize() throws {
        try send(HTTP2Frame(.ping, [], Array("roundtrp".utf8)))
        _ = try frame(.ping)
    }

    /// Returns the frames that arrive until the client is silent for `duration`, and those that were skipped.
    public func frames(within duration: Duration) throws -> [HTTP2FrameReader.Event] {
        defer { skipped = [] }
        var events = skipped
        do {
            while let event = try next(within: duration) { events.append(event) }
        } catch Socket.WaitError.timedOut {
            // The client is silent.
        }
        return events
    }

    /// Reads until the client closes the connection.
    public func readToEnd() throws {
        do {
            while try next(within: .seconds(10)) != nil {}
        } catch let error as SocketError where error.code == ECONNRESET {
            // A reset counts as a close.
        }
    }

    public func reset() { socket.reset() }

    private func event(
        _ expected: String, _ isExpected: (HTTP2FrameReader.Event) -> Bool
    ) throws -> HTTP2FrameReader.Event {
        if let index = skipped.firstIndex(where: isExpected) { return skipped.remove(at: index) }
        while let event = try next(within: .seconds(10)) {
            if isExpected(event) { return event }
            skipped.append(event)
        }
        throw Failure("the client closed, but \(expected) was expected")
    }

    /// Returns the next event; nil at the end of the connection. Acknowledges SETTINGS and PING.
    private func next(within limit: Duration) throws -> HTTP2FrameReader.Event? {
        while true {
            guard let event = try reader.next() else {
                let bytes = try socket.receive(within: limit)
                guard !bytes.isEmpty else { return nil }
                reader.append(bytes)
                continue
            }
            guard case .frame(let frame) = event, !frame.flags.contains(.acknowledgment) else { return event }
            switch frame.kind {
            case .settings:
                settings.merge(frame.settings) { $1 }
                try send(HTTP2Frame(.settings, .acknowledgment))
            case .ping: try send(HTTP2Frame(.ping, .acknowledgment, frame.payload))
            default: return event
            }
        }
    }
}
