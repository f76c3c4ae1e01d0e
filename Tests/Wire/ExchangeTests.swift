import Foundation
import Nightjar
import NightjarLua
import NightjarTestSupport
import NightjarTransport
import Synchronization
import Testing

/// Runs the golden exchanges, byte for byte, and compares them with the requests of curl.
@Suite(.serialized) struct ExchangeTests {
    @Test func everyFileIsRead() {
        #expect(Exchange.all.count == Exchange.count)
        #expect(Exchange.count > 20)
    }

    @Test(arguments: Exchange.all) func exchangeMatchesItsFile(_ exchange: Exchange) throws {
        let peer = try ScriptedPeer(exchange.steps)
        let result = Mutex("")
        let script = try Script()
        try script.register("tell") { call in
            guard let bytes = call.string(0) else { return }
            result.withLock { $0 = String(decoding: bytes, as: UTF8.self) }
        }
        try script.run(
            """
            local nightjar = require "nightjar"
            origin = "http://127.0.0.1:\(peer.port)"
            local function open(options)
              options = options or {}
              options.base_url = options.base_url or origin
              if options.retry == nil then options.retry = false end
              options.http = { versions = { "\(TestHTTP.isHTTP2 ? "2" : "1.1")" } }
              return nightjar.client(options)
            end
            local function exchange(nightjar, client, api)
            \(exchange.lua)
            end
            tell(tostring(exchange(nightjar, open, open())))
            """)
        peer.stop()
        for (index, connection) in exchange.connections.enumerated() where !connection.isEmpty {
            let received = Bytes(peer.received(index)).text
            let expected = connection.map(\.sent).map { exchange.wire($0, port: peer.port) }.joined()
            let isExpected = matches(Self.foldingNames(received), Self.foldingNames(expected))
            #expect(isExpected, "sent on connection \(index):\n\(received)\nexpected:\n\(expected)")
        }
        #expect(
            result.withLock { $0 }
                == exchange.result.replacingOccurrences(of: "{origin}", with: "http://127.0.0.1:\(peer.port)"))
        #expect(peer.failures == [])
    }

    /// Compares the request line, the fields and the body.
    @Test(arguments: Exchange.all.filter { $0.curl != nil }) func curlSendsTheSameBytes(_ exchange: Exchange) throws {
        let peer = try ScriptedPeer(exchange.steps)
        let arguments = (exchange.curl ?? []).map { exchange.filled($0, port: peer.port) }
        // curl 7.88 sends no second request on a connection with prior knowledge.
        let turns = exchange.connections.flatMap { $0 }
        let version = TestHTTP.isHTTP2 && turns.count == 1 ? "--http2-prior-knowledge" : "--http1.1"
        _ = try run("curl", [version, "-s", "-o", "/dev/null", "--noproxy", "*", "--max-time", "10"] + arguments)
        peer.stop()
        let received = peer.requests
        try #require(received.count == turns.count)
        for (request, turn) in zip(received, turns) {
            let ours = Comparable(exchange.wire(turn.sent, port: peer.port))
            var curls = Comparable("")
            curls.line = "\(request.method) \(request.target) HTTP/1.1"
            curls.fields = Set(request.headers.map { Comparable.field($0.name, $0.value) }.compactMap { $0 })
            curls.body = String(decoding: request.body, as: UTF8.self)
            #expect(curls.line == ours.line)
            #expect(curls.fields == ours.fields)
            #expect(curls.body == ours.body)
        }
    }

    /// Returns the text with field names in lower case over HTTP/2, which has no other (RFC 9113 section 8.2).
    private static func foldingNames(_ text: String) -> String {
        guard TestHTTP.isHTTP2 else { return text }
        let lines = text.components(separatedBy: "\r\n").map { line -> String in
            guard let colon = line.firstIndex(of: ":"), !line[..<colon].contains(" ") else { return line }
            return line[..<colon].lowercased() + line[colon...]
        }
        return lines.joined(separator: "\r\n")
    }

    private func matches(_ received: String, _ expected: String) -> Bool {
        var rest = Substring(received)
        let parts = expected.components(separatedBy: "{any}")
        for (index, part) in parts.enumerated() {
            if index == 0 {
                guard rest.hasPrefix(part) else { return false }
                rest = rest.dropFirst(part.count)
            } else if index == parts.count - 1, part.isEmpty {
                return true
            } else {
                guard let range = rest.range(of: part) else { return false }
                rest = rest[range.upperBound...]
            }
        }
        return rest.isEmpty
    }

    /// A request without the fields in which clients may differ. The order of fields is ignored.
    private struct Comparable {
        var line = ""
        var fields: Set<String> = []
        var body = ""

        init(_ text: String) {
            let parts = text.components(separatedBy: "\r\n\r\n")
            let lines = parts[0].components(separatedBy: "\r\n")
            line = lines[0]
            for line in lines.dropFirst() {
                let pair = line.components(separatedBy: ": ")
                if let field = Comparable.field(pair[0], pair.dropFirst().joined(separator: ": ")) {
                    fields.insert(field)
                }
            }
            body = parts.dropFirst().joined(separator: "\r\n\r\n")
        }

        static func field(_ name: String, _ value: String) -> String? {
            let name = name.lowercased()
            return ["user-agent", "accept", "accept-encoding"].contains(name) ? nil : "\(name): \(value)"
        }
    }
}

extension Exchange {
    func filled(_ text: String, port: Int) -> String {
        text.replacingOccurrences(of: "{origin}", with: "http://127.0.0.1:\(port)")
            .replacingOccurrences(of: "{authority}", with: "127.0.0.1:\(port)")
    }

    func wire(_ text: String, port: Int) -> String {
        filled(text, port: port).replacingOccurrences(of: "\n", with: "\r\n")
    }

    /// The peer's port is not known yet, so responses must contain paths instead of `{origin}`.
    var steps: [[ScriptedPeer.Step]] {
        connections.map { turns in
            turns.flatMap { turn -> [ScriptedPeer.Step] in
                [.expectRequest, .send(Bytes(Array(turn.response.replacingOccurrences(of: "\n", with: "\r\n").utf8)))]
            }
        }
    }
}
