import Foundation
import Glibc

/// Runs the script of one connection. Each connection has its own thread.
final class PeerPerformance: @unchecked Sendable {
    /// The reason why a script ended before its last step.
    private enum Halt: Error {
        /// The client has closed its half of the connection, but a step expects more data.
        case clientClosed
        /// An expectation was not met.
        case failure(String)
    }

    private let socket: Socket
    /// The plain socket, or the TLS stream on it.
    private var stream: any PeerStream
    private let tls: TLSStreamContext?
    private let connection: Int
    private let log: PeerLog
    private let scripts: PeerScripts
    private let maximumWait: Duration
    private let interruption: Latch
    /// Bytes that were read from the stream and not yet consumed by a step.
    private var pending: [UInt8] = []
    /// Whether the version of HTTP is known.
    private var versionIsKnown = false
    /// Whether an HTTP/2 connection, which other scripts share, has the socket.
    private var sharesSocket = false

    init(
        socket: Socket, tls: TLSStreamContext?, connection: Int, log: PeerLog, scripts: PeerScripts,
        maximumWait: Duration, interruption: Latch
    ) {
        self.socket = socket
        self.tls = tls
        stream = socket
        self.connection = connection
        self.log = log
        self.scripts = scripts
        self.maximumWait = maximumWait
        self.interruption = interruption
    }

    /// Another script on the HTTP/2 connection of `first`.
    private init(_ stream: ScriptedStream, connection: Int, of first: PeerPerformance) {
        socket = first.socket
        tls = nil
        self.stream = stream
        self.connection = connection
        log = first.log
        scripts = first.scripts
        maximumWait = first.maximumWait
        interruption = first.interruption
        versionIsKnown = true
        sharesSocket = true
    }

    func start(_ script: [ScriptedPeer.Step]) {
        log.threadStarted()
        Thread.detachNewThread {
            self.play(script)
            self.log.threadEnded()
        }
    }

    private func play(_ script: [ScriptedPeer.Step]) {
        var place = "TLS"
        do {
            if try secure() {
                try perform(script, followedBy: .end) { place = "step \($0)" }
            }
        } catch Socket.WaitError.interrupted {
            // The test is over.
        } catch is TLSStream.Ended {
            // The fault of the script.
            return log.ended(connection)
        } catch {
            log.failed("connection \(connection), \(place): \(PeerPerformance.message(error))")
        }
        stream.close()
        if !sharesSocket { socket.close() }
        log.ended(connection)
    }

    /// Performs the handshake if the peer uses TLS.
    ///
    /// - Returns: False if the handshake failed.
    private func secure() throws -> Bool {
        guard let tls else { return true }
        let secured = try TLSStream(socket, tls)
        stream = secured
        let handshake = try secured.handshake(within: maximumWait)
        log.received(handshake, on: connection)
        return handshake.failure == nil
    }

    private static func message(_ error: any Error) -> String {
        switch error {
        case Halt.clientClosed: "the client has closed"
        case Halt.failure(let message): message
        case Socket.WaitError.timedOut: "timed out while waiting for the client"
        default: "\(error)"
        }
    }

    private func perform(
        _ steps: [ScriptedPeer.Step], followedBy rest: PeerNext, began: (Int) -> Void = { _ in }
    ) throws {
        for (index, step) in steps.enumerated() {
            began(index)
            let next = ScriptedPeer.Step.next(steps[(index + 1)...], followedBy: rest)
            stream.stepBegan(step.readsRequest ? .request : next)
            try perform(step, next)
        }
    }

    private func perform(_ step: ScriptedPeer.Step, _ next: PeerNext) throws {
        switch step {
        case .expectRequest: try expectRequest(withBody: true)
        case .expectHead: try expectRequest(withBody: false)
        case .expectBytes(let count): _ = try take(count)
        case .expectClose: try expectClose()
        case .send(let bytes): try stream.send(bytes, within: maximumWait)
        case .sendSlowly(let bytes, let interval):
            try stream.sendSlowly(bytes, within: maximumWait) { try interruption.pause(interval) }
        case .sendUnencrypted(let bytes): try stream.sendUnencrypted(bytes, within: maximumWait)
        case .closeAfter(let count, let bytes):
            try stream.send(Bytes(bytes.array.prefix(count)), within: maximumWait)
            stream.close()
        case .garbage(let seed, let count):
            var random = SeededRandom(seed: seed)
            try stream.send(Bytes(random.bytes(count)), within: maximumWait)
        case .stall: try stream.waitForEnd()
        case .wait(let duration): try interruption.pause(duration)
        case .waitFor(let latch): try wait(for: latch)
        case .open(let latch): latch.open()
        case .halfClose: stream.shutdownOutput()
        case .close: stream.close()
        case .closeWithoutNotice: stream.closeWithoutNotice()
        case .reset: stream.reset()
        case .relay(let port): try relay(to: port)
        case .untilClosed(let steps):
            while try !clientHasClosed() {
                try perform(steps, followedBy: .request)
                stream.stepBegan(.request)
            }
        }
    }

    // MARK: Reading

    /// Reads more data into `pending`.
    ///
    /// - Returns: False at the end of the stream.
    private func fill(within limit: Duration) throws -> Bool {
        let bytes = try stream.receive(within: limit)
        log.received(bytes, on: connection)
        pending += bytes
        return !bytes.isEmpty
    }

    /// Continues with HTTP/2 if the client has sent its connection preface. RFC 9113 section 3.4.
    private func readVersion() throws {
        guard !versionIsKnown else { return }
        let preface = HTTP2FrameReader.preface
        var received: [UInt8] = []
        while pending.count < preface.count, preface.starts(with: pending) {
            let bytes = try stream.receive(within: maximumWait)
            guard !bytes.isEmpty else { break }
            received += bytes
            pending += bytes
        }
        versionIsKnown = true
        guard pending.starts(with: preface) else { return log.received(received, on: connection) }
        let front = HTTP2Front(
            socket: socket, stream: stream, interruption: interruption, log: log, scripts: scripts
        ) { [self] stream, connection, script in
            PeerPerformance(stream, connection: connection, of: self).start(script)
        }
        sharesSocket = true
        let rest = Array(pending.dropFirst(preface.count))
        pending = []
        stream = try front.start(rest)
    }

    private func take(_ count: Int) throws -> [UInt8] {
        while pending.count < count {
            guard try fill(within: maximumWait) else {
                throw Halt.failure("the client closed after \(pending.count) of \(count) expected bytes")
            }
        }
        defer { pending.removeFirst(count) }
        return Array(pending.prefix(count))
    }

    private func take(through mark: [UInt8], limit: Int) throws -> [UInt8] {
        var searched = 0
        while true {
            let start = max(0, searched - mark.count + 1)
            if let end = pending.firstEnd(of: mark, from: start) { return try take(end) }
            searched = pending.count
            guard searched <= limit else { throw Halt.failure("no line end within \(limit) bytes") }
            guard try fill(within: maximumWait) else {
                throw pending.isEmpty
                    ? Halt.clientClosed : Halt.failure("the client closed inside a request: \(Bytes(pending).text)")
            }
        }
    }

    private func expectRequest(withBody: Bool) throws {
        try readVersion()
        let head = try take(through: Array("\r\n\r\n".utf8), limit: 1 << 20)
        guard var request = ReceivedRequest(head: head) else {
            throw Halt.failure("invalid request head: \(Bytes(head).text)")
        }
        log.received(request, on: connection)
        guard withBody else { return }
        if request.values("transfer-encoding").last?.lowercased() == "chunked" {
            try takeChunks(into: &request)
        } else if let text = request["content-length"] {
            guard let length = Int(text), length >= 0 else { throw Halt.failure("Content-Length is \(text)") }
            request.body = try take(length)
            request.raw += request.body
        }
        log.completed(request, on: connection)
    }

    private func takeChunks(into request: inout ReceivedRequest) throws {
        let lineEnd = Array("\r\n".utf8)
        while true {
            let line = try take(through: lineEnd, limit: 4096)
            request.raw += line
            let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "\r") }
            guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), size >= 0 else {
                throw Halt.failure("invalid chunk size: \(Bytes(line).text)")
            }
            guard size > 0 else { break }
            let chunk = try take(size)
            let end = try take(2)
            guard end == lineEnd else { throw Halt.failure("a chunk of \(size) bytes is not followed by CR LF") }
            request.body += chunk
            request.raw += chunk + end
        }
        // The trailer section, including its empty line.
        while true {
            let line = try take(through: lineEnd, limit: 1 << 16)
            request.raw += line
            if line == lineEnd { return }
        }
    }

    private func expectClose() throws {
        do {
            while try fill(within: maximumWait) {}
        } catch let error as SocketError where error.code == ECONNRESET {
            // A reset counts as a close.
        }
    }

    /// Waits until the client sends data or closes its half. Returns true if it has closed.
    private func clientHasClosed() throws -> Bool {
        guard pending.isEmpty else { return false }
        do {
            try stream.waitForData()
            try readVersion()
            guard pending.isEmpty else { return false }
            try stream.waitForData()
            return try !fill(within: maximumWait)
        } catch let error as SocketError where error.code == ECONNRESET {
            return true
        }
    }

    // MARK: Relaying

    /// Reads from both sides alternately. A poll of both sockets would miss data that the TLS stream has buffered.
    private func relay(to port: Int) throws {
        let far = try Socket(connectingTo: port)
        defer { far.close() }
        if !pending.isEmpty { try far.send(Bytes(pending), within: maximumWait) }
        pending = []
        while true {
            do {
                let bytes = try stream.receive(within: .milliseconds(1))
                if bytes.isEmpty { return }
                log.received(bytes, on: connection)
                try far.send(Bytes(bytes), within: maximumWait)
            } catch Socket.WaitError.timedOut {
                // Continue with the other side.
            }
            while let bytes = try far.received(atMost: 64 * 1024) {
                if bytes.isEmpty { return }
                try stream.send(Bytes(bytes), within: maximumWait)
            }
        }
    }

    // MARK: Waiting

    private func wait(for latch: Latch) throws {
        let end = ContinuousClock.now + maximumWait
        while !latch.isOpen {
            guard ContinuousClock.now < end else { throw Halt.failure("the test did not open the latch") }
            try interruption.pause(.milliseconds(2))
        }
    }
}

extension Latch {
    /// Waits for `duration`.
    ///
    /// - Throws: `Socket.WaitError.interrupted` if the latch opens first.
    fileprivate func pause(_ duration: Duration) throws {
        let end = ContinuousClock.now + duration
        while true {
            let remaining = ContinuousClock.now.duration(to: end)
            guard remaining > .zero else { return }
            var polled = pollfd(fd: descriptor, events: 0, revents: 0)
            if poll(&polled, 1, remaining.pollMilliseconds) > 0 { throw Socket.WaitError.interrupted }
        }
    }
}
