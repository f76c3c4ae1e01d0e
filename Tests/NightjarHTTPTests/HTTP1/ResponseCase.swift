import NIOCore
import Testing

@testable import NightjarHTTP

/// Bytes from a server, and the expected output of the decoder. The output must not depend on the splits of the bytes.
struct ResponseCase: Sendable, CustomTestStringConvertible {
    /// The output of NIOHTTP1's decoder for the same bytes.
    enum Peer: Sendable, Equatable {
        case same
        /// The output differs. The text is the reason why Nightjar's output is correct.
        case differs(String)
    }

    let name: String
    let methods: [Method]
    let wire: [UInt8]
    /// Whether the server closes the connection after the last byte.
    let closes: Bool
    /// One line for each event: `100 Continue`, `200 OK`, `< content`, `end`, `end, reusable`, `+ Trailer: value`. An
    /// error is the last line: its kind, a colon and a part of its message.
    let expected: [String]
    let nio: Peer

    init(
        _ name: String, to methods: Method..., wire: String, closes: Bool = false, nio: Peer = .same,
        _ expected: [String]
    ) {
        self.init(name, to: methods, bytes: Array(wire.utf8), closes: closes, nio: nio, expected)
    }

    init(
        _ name: String, to methods: [Method] = [], bytes: [UInt8], closes: Bool = false,
        nio: Peer = .same, _ expected: [String]
    ) {
        self.name = name
        self.methods = methods.isEmpty ? [.get] : methods
        self.wire = bytes
        self.closes = closes
        self.nio = nio
        self.expected = expected
    }

    var testDescription: String { name }
}

/// The output of a decoder for some input.
struct Transcript: Equatable {
    private(set) var lines: [String] = []
    private(set) var error: NightjarError?

    static func == (a: Transcript, b: Transcript) -> Bool {
        a.lines == b.lines && a.error?.kind == b.error?.kind
    }

    mutating func append(_ line: String) { lines.append(line) }

    /// Appends content. Consecutive content becomes one line, because its splits are not significant.
    mutating func append(content: ByteBuffer) {
        let text = String(buffer: content)
        if let last = lines.last, last.hasPrefix("< ") {
            lines[lines.count - 1] = last + text
        } else {
            lines.append("< " + text)
        }
    }

    mutating func append(_ event: HTTP1ResponseDecoder.Event, reusable: Bool) {
        switch event {
        case .informational(let head), .head(let head): append("\(head.status) \(head.reason)")
        case .body(let content): append(content: content)
        case .end(let trailers):
            for (name, value) in trailers { append("+ \(name): \(value)") }
            append(reusable ? "end, reusable" : "end")
        }
    }

    mutating func fail(_ error: NightjarError) { self.error = error }

    func matches(_ expected: [String]) -> Bool {
        guard let error else { return lines == expected }
        guard let last = expected.last, let colon = last.firstIndex(of: ":") else { return false }
        let fragment = last[last.index(after: colon)...].drop { $0 == " " }
        return lines == Array(expected.dropLast()) && error.kind.name == last[..<colon]
            && error.message.contains(fragment)
    }

    var description: String {
        (lines + (error.map { ["\($0.kind.name): \($0.message)"] } ?? [])).joined(separator: "\n")
    }
}

extension Transcript {
    /// Decodes `wire`, received in several reads that end at `cuts`.
    static func of(
        _ wire: [UInt8], cutAt cuts: [Int] = [], to methods: [Method] = [.get], closes: Bool = false,
        limits: HTTP1ResponseDecoder.Limits = HTTP1ResponseDecoder.Limits()
    ) -> Transcript {
        var transcript = Transcript()
        var decoder = HTTP1ResponseDecoder(limits: limits)
        var waiting = methods[...]
        if let method = waiting.popFirst() { decoder.expectResponse(to: method) }
        do throws(NightjarError) {
            let bounds = [0] + cuts + [wire.count]
            for (start, end) in zip(bounds, bounds.dropFirst()) {
                var buffer = ByteBuffer(bytes: wire[start..<end])
                while let event = try decoder.next(&buffer) {
                    transcript.append(event, reusable: decoder.connectionIsReusable)
                    if decoder.isIdle, decoder.connectionIsReusable, let method = waiting.popFirst() {
                        decoder.expectResponse(to: method)
                    }
                }
                if buffer.readableBytes > 0 { transcript.append("\(buffer.readableBytes) bytes not consumed") }
            }
            if closes, let event = try decoder.endOfStream() {
                transcript.append(event, reusable: decoder.connectionIsReusable)
            }
        } catch {
            transcript.fail(error)
        }
        return transcript
    }
}
