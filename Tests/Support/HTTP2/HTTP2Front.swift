import Foundation
import Glibc

/// The server's side of an HTTP/2 connection whose streams the scripts of a ``ScriptedPeer`` serve.
///
/// A script reads and writes HTTP/1.1 on a ``ScriptedStream``. A new stream of the client is passed to the first script of
/// this connection that expects another request and has completed the previous exchange. If there is none, the next script
/// of the peer starts. If no script is left, the stream waits until a script expects a request.
///
/// A script ends as in HTTP/1.1 with a closed connection: the front sends GOAWAY, and closes the connection after the last
/// exchange. An incomplete response ends the connection if no other exchange is in progress, and otherwise only its stream.
///
/// One thread reads from the connection. The threads of the scripts write.
final class HTTP2Front: @unchecked Sendable {
    /// Why the connection must end.
    private enum Ending { case close, reset }

    let socket: Socket
    private let stream: any PeerStream
    private let interruption: Latch
    private let log: PeerLog
    private let scripts: PeerScripts
    /// Starts a script on a stream, on a new thread. The closure retains the first script, which retains this object,
    /// so it is nil after the end of the connection. The streams also retain this object.
    private var play: (@Sendable (ScriptedStream, _ connection: Int, [ScriptedPeer.Step]) -> Void)?

    /// Guards the state below and the state of the streams. Signals each change that a script can wait for.
    let condition = NSCondition()
    /// Held by the thread that uses ``stream``.
    private let output = NSLock()
    /// Opened to end the reading thread.
    private let wake = Latch()
    private var reader = HTTP2FrameReader()
    private(set) var served: [ScriptedStream] = []
    private var waiting: [WaitingStream] = []
    private(set) var window = 65_535
    private var initialWindow = 65_535
    private(set) var maximumFrame = 16_384
    private var lastStream = 0
    /// The last stream of the client that a script has served.
    private var lastServed = 0
    private var hasSentGoAway = false
    private var isShutDown = false
    private var ending: Ending?
    private(set) var isInterrupted = false
    /// The number of threads that write frames of a script. The connection is not closed before they have finished.
    var writerCount = 0

    /// A stream of the client that no script serves yet.
    private struct WaitingStream {
        let number: Int
        let head: HTTP1RequestText
        var body: [UInt8] = []
        var bodySize = 0
        var ends: Bool
    }

    init(
        socket: Socket, stream: any PeerStream, interruption: Latch, log: PeerLog, scripts: PeerScripts,
        play: @escaping @Sendable (ScriptedStream, _ connection: Int, [ScriptedPeer.Step]) -> Void
    ) {
        self.socket = socket
        self.stream = stream
        self.interruption = interruption
        self.log = log
        self.scripts = scripts
        self.play = play
    }

    /// Starts the connection and returns the stream of its first script.
    ///
    /// - Parameter received: The bytes after the client's preface.
    func start(_ received: [UInt8]) throws -> ScriptedStream {
        do {
            try write([.settings([(.maximumConcurrentStreams, 100)])], within: .seconds(10))
        } catch {
            play = nil
            throw error
        }
        let first = ScriptedStream(self)
        served.append(first)
        log.threadStarted()
        Thread.detachNewThread {
            self.readAll(received)
            self.log.threadEnded()
        }
        return first
    }

    // MARK: Reading

    private func readAll(_ received: [UInt8]) {
        do {
            try process(received)
            repeat {
                // The first read takes what TLS has decrypted with the preface.
                let bytes = try output.withLock { try stream.receiveAvailable() }
                guard let bytes else { continue }
                guard !bytes.isEmpty else { break }
                try process(bytes)
            } while try waitForData()
        } catch Socket.WaitError.interrupted {
            condition.withLock { isInterrupted = true }
        } catch let violation as HTTP2Violation {
            log.failed("\(violation)")
        } catch is SocketError {
            // The connection is lost, as scripts may expect.
        } catch is TLSStream.Ended {
            // The fault of the script.
        } catch {
            log.failed("reading HTTP/2 failed: \(error)")
        }
        let isReset = condition.withLock {
            for stream in served { stream.clientEnded = true }
            (served, play) = ([], nil)
            condition.broadcast()
            return ending == .reset
        }
        output.withLock { isReset ? socket.reset() : stream.close() }
    }

    /// Waits until data arrives. Returns false if the connection must end.
    private func waitForData() throws -> Bool {
        while true {
            // A thread that sends closes the socket for a fault of the script.
            let descriptor = output.withLock { socket.descriptor }
            guard condition.withLock({ ending == nil }), descriptor >= 0 else { return false }
            var polled = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: interruption.descriptor, events: 0, revents: 0),
                pollfd(fd: wake.descriptor, events: 0, revents: 0),
            ]
            _ = poll(&polled, 3, -1)
            if polled[1].revents != 0 { throw Socket.WaitError.interrupted }
            if polled[2].revents != 0 { return false }
            if polled[0].revents != 0 { return true }
        }
    }

    private func process(_ bytes: [UInt8]) throws {
        reader.append(bytes)
        while let event = try reader.next() {
            let replies = condition.withLock {
                defer { condition.broadcast() }
                return handle(event)
            }
            try write(replies, within: .seconds(10))
        }
        shutDownIfDrained()
    }

    private func handle(_ event: HTTP2FrameReader.Event) -> [HTTP2Frame] {
        switch event {
        case .fields(let number, let fields, let ends, _):
            if let stream = owner(of: number) {
                stream.receiveEnd(fields)
                return []
            }
            guard !hasSentGoAway, number > lastStream else { return [] }
            lastStream = number
            return serve(WaitingStream(number: number, head: HTTP1RequestText(fields, ends: ends), ends: ends))
        case .frame(let frame):
            return handle(frame)
        }
    }

    private func handle(_ frame: HTTP2Frame) -> [HTTP2Frame] {
        switch frame.kind {
        case .data: return received(frame)
        case .reset:
            waiting.removeAll { $0.number == frame.stream }
            if let stream = owner(of: frame.stream) { stream.clientEnded = true }
            return []
        case .settings:
            guard !frame.flags.contains(.acknowledgment) else { return [] }
            if let size = frame.settings[.maximumFrameSize] { maximumFrame = size }
            if let size = frame.settings[.initialWindowSize] {
                for stream in served { stream.window += size - initialWindow }
                initialWindow = size
            }
            return [HTTP2Frame(.settings, .acknowledgment)]
        case .ping:
            return frame.flags.contains(.acknowledgment) ? [] : [HTTP2Frame(.ping, .acknowledgment, frame.payload)]
        case .windowUpdate:
            if frame.stream == 0 {
                window += frame.number(at: 0)
            } else {
                owner(of: frame.stream)?.window += frame.number(at: 0)
            }
            return []
        default: return []
        }
    }

    private func received(_ frame: HTTP2Frame) -> [HTTP2Frame] {
        let ends = frame.flags.contains(.endStream)
        if let stream = owner(of: frame.stream), !stream.hasEnded {
            stream.receive(frame.payload)
            if ends { stream.receiveEnd([]) }
            return []
        }
        if let index = waiting.firstIndex(where: { $0.number == frame.stream }) {
            waiting[index].body += HTTP1RequestText.part(frame.payload, isChunked: waiting[index].head.isChunked)
            waiting[index].bodySize += frame.payload.count
            if ends {
                waiting[index].body += HTTP1RequestText.end([], isChunked: waiting[index].head.isChunked)
                waiting[index].ends = true
            }
            return []
        }
        return frame.payload.isEmpty ? [] : [.windowUpdate(0, frame.payload.count)]
    }

    // MARK: Scripts

    /// The stream of a script that serves a stream of the client, until the exchange is complete.
    private func owner(of number: Int) -> ScriptedStream? {
        served.first { $0.number == number && !$0.exchangeIsComplete }
    }

    private func serve(_ request: WaitingStream) -> [HTTP2Frame] {
        if let free = served.first(where: \.isFree) {
            begin(request, on: free)
        } else if let (index, script) = scripts.next() {
            let stream = ScriptedStream(self)
            served.append(stream)
            begin(request, on: stream)
            play?(stream, index, script)
        } else if served.contains(where: { !$0.hasEnded && !$0.clientEnded && $0.next == .request }) {
            waiting.append(request)
        } else {
            return refuse(request)
        }
        return []
    }

    private func begin(_ request: WaitingStream, on stream: ScriptedStream) {
        lastServed = max(lastServed, request.number)
        stream.begin(request.number, request.head, ends: request.ends, window: initialWindow)
        stream.receive(text: request.body, size: request.bodySize)
    }

    private func refuse(_ request: WaitingStream) -> [HTTP2Frame] {
        scripts.missing()
        if served.contains(where: \.isActive) { return [.reset(request.number, .internalError)] }
        end(.reset)
        return []
    }

    /// Serves the waiting streams with free scripts.
    func serveWaiting() -> [HTTP2Frame] {
        var replies: [HTTP2Frame] = []
        for request in waiting {
            guard served.contains(where: \.isFree) || !served.contains(where: { $0.next == .request && !$0.hasEnded })
            else { break }
            waiting.removeFirst()
            replies += serve(request)
        }
        condition.broadcast()
        return replies
    }

    /// Removes the stream of an ended script.
    func remove(_ stream: ScriptedStream) { served.removeAll { $0 === stream } }

    // MARK: Writing

    func useWindow(_ count: Int) { window -= count }

    func write(_ frames: [HTTP2Frame], within limit: Duration) throws {
        guard !frames.isEmpty else { return }
        try write(frames.flatMap(\.bytes), within: limit)
    }

    func write(_ bytes: [UInt8], within limit: Duration) throws {
        try withOutput { try stream.send(Bytes(bytes), within: limit) }
    }

    func writeUnencrypted(_ bytes: Bytes, within limit: Duration) throws {
        try withOutput { try socket.send(bytes, within: limit) }
    }

    /// Writes byte by byte. No other frame is written meanwhile.
    func writeSlowly(_ bytes: [UInt8], within limit: Duration, pause: () throws -> Void) throws {
        try withOutput {
            for byte in bytes {
                try stream.send([byte], within: limit)
                try pause()
            }
        }
    }

    private func withOutput(_ body: () throws -> Void) throws {
        do {
            try output.withLock {
                if socket.descriptor >= 0 { try body() }
            }
        } catch {
            if !(error is Socket.WaitError) { condition.withLock { end(.close) } }
            throw error
        }
    }

    // MARK: Ending

    /// GOAWAY, unless it was sent. The client sends the waiting streams again on another connection.
    func goAway() -> [HTTP2Frame] {
        guard !hasSentGoAway else { return [] }
        hasSentGoAway = true
        waiting = []
        return [.goAway(last: lastServed)]
    }

    /// Whether an exchange of another script is in progress.
    func isShared(_ stream: ScriptedStream) -> Bool {
        served.contains { $0 !== stream && $0.isActive }
    }

    /// Closes the connection if GOAWAY was sent and no exchange is in progress.
    func shutDownIfDrained() {
        let isDrained = condition.withLock {
            hasSentGoAway && writerCount == 0 && !served.contains(where: \.isActive)
        }
        if isDrained { shutDown(notice: true) }
    }

    /// Sends a FIN. The reading thread waits until the client closes, so that no data is lost by a reset.
    ///
    /// - Parameter notice: true to send a close_notify alert first if TLS is used.
    func shutDown(notice: Bool) {
        let isFirst = condition.withLock {
            defer { isShutDown = true }
            return !isShutDown
        }
        guard isFirst else { return }
        output.withLock {
            guard socket.descriptor >= 0 else { return }
            notice ? stream.shutdownOutput() : socket.shutdownOutput()
        }
    }

    /// Closes or resets the connection, on the reading thread.
    func reset() { end(.reset) }

    private func end(_ ending: Ending) {
        if self.ending == nil { self.ending = ending }
        wake.open()
    }
}
