import Foundation

/// The conversation of one script with a client that uses HTTP/2. It carries one exchange after the other.
///
/// The state is guarded by the condition of the front.
final class ScriptedStream: PeerStream, @unchecked Sendable {
    private let front: HTTP2Front
    /// The script's next action with its client.
    var next = PeerNext.request
    /// The number of the client's stream; 0 before the first exchange.
    private(set) var number = 0
    var window = 0
    /// Whether the client has reset the stream or closed the connection.
    var clientEnded = false
    private(set) var hasEnded = false
    private var requestIsComplete = false
    private var responseIsComplete = false
    private var bodyIsChunked = false
    private var response = HTTP1ResponseReader(isHead: false)
    /// The text of the request that the script has not read, and the number of bytes of DATA in it.
    private var inbound: [UInt8] = []
    private var inboundSize = 0

    init(_ front: HTTP2Front) { self.front = front }

    // MARK: State

    var exchangeIsComplete: Bool { number == 0 || requestIsComplete && responseIsComplete }
    /// Whether an exchange is in progress.
    var isActive: Bool { !exchangeIsComplete && !clientEnded && !hasEnded }
    /// Whether the script can serve another stream.
    var isFree: Bool { exchangeIsComplete && !clientEnded && !hasEnded && next == .request }

    func begin(_ number: Int, _ head: HTTP1RequestText, ends: Bool, window: Int) {
        self.number = number
        self.window = window
        requestIsComplete = ends
        responseIsComplete = false
        bodyIsChunked = head.isChunked
        response = HTTP1ResponseReader(isHead: head.method == "HEAD")
        inbound += head.bytes
    }

    func receive(text: [UInt8], size: Int) {
        inbound += text
        inboundSize += size
    }

    /// Passes part of the request body to the script.
    func receive(_ content: [UInt8]) {
        receive(text: HTTP1RequestText.part(content, isChunked: bodyIsChunked), size: content.count)
    }

    /// Passes the end of the request body to the script.
    func receiveEnd(_ trailers: [HTTP2FrameReader.Field]) {
        inbound += HTTP1RequestText.end(trailers, isChunked: bodyIsChunked)
        requestIsComplete = true
    }

    func stepBegan(_ next: PeerNext) {
        let frames = front.condition.withLock {
            self.next = next
            return front.serveWaiting()
        }
        try? front.write(frames, within: .seconds(1))
    }

    // MARK: Reading

    private func wait(within limit: Duration?, until isReady: () -> Bool) throws {
        let end = Date(timeIntervalSinceNow: (limit ?? .seconds(86_400)) / .seconds(1))
        while !isReady() {
            if front.isInterrupted { throw Socket.WaitError.interrupted }
            guard front.condition.wait(until: end) else { throw Socket.WaitError.timedOut }
        }
    }

    func waitForData() throws {
        try front.condition.withLock { try wait(within: nil) { !inbound.isEmpty || clientEnded } }
    }

    /// Returns the text that has arrived, and lets the client send as many bytes again.
    func receive(within limit: Duration) throws -> [UInt8] {
        let (bytes, frames) = try front.condition.withLock { try take(within: limit) }
        do {
            try front.write(frames, within: limit)
        } catch is SocketError {
            // The client has closed the connection. The next read reports it.
        }
        return bytes
    }

    private func take(within limit: Duration) throws -> (bytes: [UInt8], updates: [HTTP2Frame]) {
        try wait(within: limit) { !inbound.isEmpty || clientEnded }
        var updates: [HTTP2Frame] = []
        if inboundSize > 0 {
            updates.append(.windowUpdate(0, inboundSize))
            if !requestIsComplete, !clientEnded { updates.append(.windowUpdate(number, inboundSize)) }
        }
        let bytes = inbound
        inbound = []
        inboundSize = 0
        return (bytes, updates)
    }

    func receiveAvailable() throws -> [UInt8]? {
        let isEmpty = front.condition.withLock { inbound.isEmpty && !clientEnded }
        return isEmpty ? nil : try receive(within: .zero)
    }

    func waitForEnd() throws {
        try front.condition.withLock { try wait(within: nil) { clientEnded } }
    }

    // MARK: Writing

    /// Frames, and DATA that needs a window.
    private enum Output {
        case bytes([UInt8])
        case data([UInt8], ends: Bool)
    }

    func send(_ bytes: Bytes, within limit: Duration) throws {
        let (number, outputs) = front.condition.withLock {
            front.writerCount += 1
            return (self.number, translated(bytes.array))
        }
        try writing {
            for output in outputs {
                switch output {
                case .bytes(let bytes): try front.write(bytes, within: limit)
                case .data(let bytes, let ends): try send(data: bytes[...], ends: ends, on: number, within: limit)
                }
            }
        }
    }

    /// Writes frames for which the thread was counted as a writer.
    private func writing(_ write: () throws -> Void) throws {
        defer {
            front.condition.withLock { front.writerCount -= 1 }
            front.shutDownIfDrained()
        }
        try write()
    }

    func sendSlowly(_ bytes: Bytes, within limit: Duration, pause: () throws -> Void) throws {
        let wire = front.condition.withLock {
            front.writerCount += 1
            return translated(bytes.array).flatMap { output -> [UInt8] in
                switch output {
                case .bytes(let bytes): return bytes
                case .data(let bytes, let ends):
                    return HTTP2Frame.data(number, bytes, ends: ends).bytes + (ends ? completed() : [])
                }
            }
        }
        try writing { try front.writeSlowly(wire, within: limit, pause: pause) }
    }

    func sendUnencrypted(_ bytes: Bytes, within limit: Duration) throws {
        try front.writeUnencrypted(bytes, within: limit)
    }

    private func send(data: ArraySlice<UInt8>, ends: Bool, on number: Int, within limit: Duration) throws {
        var rest = data
        repeat {
            let frame: [UInt8] = try front.condition.withLock {
                try wait(within: limit) { rest.isEmpty || clientEnded || min(window, front.window) > 0 }
                guard !clientEnded else {
                    rest = []
                    return []
                }
                let part = rest.prefix(min(window, front.window, front.maximumFrame))
                rest = rest.dropFirst(part.count)
                window -= part.count
                front.useWindow(part.count)
                let isLast = ends && rest.isEmpty
                return HTTP2Frame.data(number, part, ends: isLast).bytes + (isLast ? completed() : [])
            }
            try front.write(frame, within: limit)
        } while !rest.isEmpty
    }

    /// Translates what the script sends. What it sends after the client has reset the stream is discarded.
    private func translated(_ bytes: [UInt8]) -> [Output] {
        guard !clientEnded, !hasEnded else { return [] }
        guard number > 0 else { return [.bytes(bytes)] }
        var outputs: [Output] = []
        for event in response.read(bytes) {
            switch event {
            case .head(let fields, let ends): outputs.append(.bytes(headers(fields, ends: ends)))
            case .partOfHead(let fields, let isFirst):
                outputs.append(.bytes(partOfHead(fields, isFirst ? .headers : .continuation, [])))
            case .restOfHead(let fields):
                outputs.append(.bytes(partOfHead(fields, .continuation, .endHeaders)))
            case .data(let bytes): outputs.append(.data(bytes, ends: false))
            case .trailers(let fields): outputs.append(.bytes(headers(fields, ends: true)))
            case .end:
                if case .data(let bytes, _) = outputs.last {
                    outputs[outputs.count - 1] = .data(bytes, ends: true)
                } else {
                    outputs.append(.data([], ends: true))
                }
            case .garbage(let bytes): outputs.append(.bytes(bytes))
            case .surplus(let bytes): outputs.append(.bytes(HTTP2Frame.data(number, bytes).bytes))
            }
        }
        return outputs
    }

    private func headers(_ fields: HTTP1Fields, ends: Bool) -> [UInt8] {
        let block = HTTP2FieldBlock.literals(fields.translated)
        let frames = HTTP2Frame.headers(number, block: block, ends: ends, maximum: front.maximumFrame)
        return frames.flatMap(\.bytes) + (ends ? completed() : [])
    }

    /// The frames of a head that may never end.
    private func partOfHead(_ fields: HTTP1Fields, _ kind: HTTP2Frame.Kind, _ flags: HTTP2Frame.Flags) -> [UInt8] {
        let block = HTTP2FieldBlock.literals(fields.translated)
        var frames = HTTP2Frame.headers(number, block: block, ends: false, maximum: front.maximumFrame)
        for index in frames.indices {
            frames[index].kind = index == 0 ? kind : .continuation
            frames[index].flags = index == frames.count - 1 ? flags : []
        }
        return frames.flatMap(\.bytes)
    }

    /// Records the end of the response. Returns GOAWAY if the script closes the connection after it.
    private func completed() -> [UInt8] {
        responseIsComplete = true
        let frames = response.closes || next == .end ? front.goAway() : front.serveWaiting()
        return frames.flatMap(\.bytes)
    }

    // MARK: Ending

    func shutdownOutput() { finish(notice: true, isLast: false) }
    func close() { finish(notice: true, isLast: true) }
    func closeWithoutNotice() { finish(notice: false, isLast: true) }

    func reset() {
        let frames = front.condition.withLock { () -> [HTTP2Frame] in
            guard !hasEnded else { return [] }
            hasEnded = true
            front.remove(self)
            guard !clientEnded else { return front.serveWaiting() }
            guard front.isShared(self) else {
                front.reset()
                return []
            }
            return (exchangeIsComplete ? [] : [.reset(number, .internalError)]) + front.goAway()
        }
        try? front.write(frames, within: .seconds(1))
    }

    /// Closes the conversation.
    ///
    /// - Parameters:
    ///   - notice: true if the end of the connection ends a response whose length was not announced.
    ///   - isLast: true if the script reads nothing more.
    private func finish(notice: Bool, isLast: Bool) {
        var isCut = false
        let frames = front.condition.withLock { () -> [HTTP2Frame] in
            front.writerCount += 1
            guard !hasEnded else { return [] }
            hasEnded = isLast
            if isLast { front.remove(self) }
            guard !clientEnded else { return front.serveWaiting() }
            if number > 0, !responseIsComplete {
                if notice, response.endsWithConnection {
                    responseIsComplete = true
                    return [.data(number, [], ends: true)] + front.goAway()
                }
                isCut = !front.isShared(self)
                return isCut ? [] : [.reset(number, .internalError)] + front.goAway()
            }
            isCut = !notice && !front.isShared(self)
            guard !isCut else { return [] }
            return (number > 0 && !requestIsComplete ? [.reset(number, .noError)] : []) + front.goAway()
        }
        try? writing { try front.write(frames, within: .seconds(1)) }
        if isCut { front.shutDown(notice: notice) }
    }
}
