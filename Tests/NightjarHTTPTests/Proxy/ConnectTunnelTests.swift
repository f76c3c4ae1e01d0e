import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct ConnectTunnelTests {
    private func tunnel(
        _ proxy: String = "http://proxy:3128", to target: String = "https://api.example/", userAgent: String? = nil
    ) throws -> ConnectTunnel {
        ConnectTunnel(to: try RequestURL(target).origin, through: try ProxyAddress(proxy), userAgent: userAgent)
    }

    /// Returns the result for a response in pieces: "open" and the remaining bytes, the error, or "waiting".
    private func outcome(
        _ response: [UInt8], cutAt cuts: [Int] = [], _ proxy: String = "http://u:secret@proxy:3128",
        to target: String = "https://api.example/", ends: Bool = false
    ) throws -> String {
        var tunnel = try tunnel(proxy, to: target)
        _ = try tunnel.start()
        var start = 0
        do throws(NightjarError) {
            for end in cuts + [response.count] {
                var buffer = ByteBuffer(bytes: response[start..<end])
                start = end
                guard try tunnel.received(&buffer) else { continue }
                #expect(tunnel.isOpen)
                return "open " + String(buffer: buffer)
            }
        } catch {
            #expect(!tunnel.isOpen)
            #expect(error.phase == .connect)
            // Later calls fail with the same error.
            var more = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")
            let again = #expect(throws: NightjarError.self) { try tunnel.received(&more) }
            #expect(again?.message == error.message)
            return "\(error)"
        }
        return ends ? "\(tunnel.endOfStream())" : "waiting"
    }

    @Test func connectUsesTheAuthorityForm() throws {
        var plain = try tunnel()
        #expect(
            String(buffer: try plain.start()) == "CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n\r\n")
        var full = try tunnel("http://us%3aer:p%40ss@proxy", to: "http://[::1]:81/x", userAgent: "nightjar/1")
        #expect(
            String(buffer: try full.start()) == "CONNECT [::1]:81 HTTP/1.1\r\nHost: [::1]:81\r\n"
                + "Proxy-Authorization: Basic dXM6ZXI6cEBzcw==\r\nUser-Agent: nightjar/1\r\n\r\n")
    }

    @Test func userAgentWithALineBreakIsRejected() throws {
        var tunnel = try tunnel(userAgent: "a\r\nX: y")
        let error = #expect(throws: NightjarError.self) { try tunnel.start() }
        #expect(error?.kind == .invalidRequest)
    }

    static let responses: [(String, String)] = [
        ("HTTP/1.1 200 Connection established\r\n\r\n", "open "),
        ("HTTP/1.0 200 OK\r\nVia: x\r\n\r\n", "open "),
        // Content-Length and Transfer-Encoding are ignored in a successful response to CONNECT.
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "open "),
        ("HTTP/1.1 204 x\r\nTransfer-Encoding: chunked\r\nContent-Length: x\r\n\r\n", "open "),
        ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "open "),
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
                + "Content-Length: 3\r\n\r\nabc",
            "connect: the proxy http://proxy:3128 rejected the user name and password (407); correct them in its URL"
        ),
        (
            "HTTP/1.1 403 Not \u{1B}for you\r\n\r\n",
            "protocol: reading the response of the proxy http://proxy:3128 failed: the reason in "
                + "\"HTTP/1.1 403 Not \\x1bfor you\\r\\n\" contains a control character"
        ),
        (
            "HTTP/1.1 403 Not for you\r\nX: y\r\n\r\n",
            "connect: the proxy http://proxy:3128 did not open a tunnel to api.example:443: it responded 403 \"Not for you\""
        ),
        (
            "HTTP/1.1 503 \r\nContent-Length: 0\r\n\r\n",
            "connect: the proxy http://proxy:3128 did not open a tunnel to api.example:443: it responded 503"
        ),
        (
            "HTTP/1.1 302 Found\r\nLocation: http://login/\r\n\r\n",
            "connect: the proxy http://proxy:3128 did not open a tunnel to api.example:443: it responded 302 \"Found\""
        ),
        (
            "SSH-2.0-x\r\n",
            "protocol: reading the response of the proxy http://proxy:3128 failed: the peer did not respond with HTTP/1"
        ),
    ]

    @Test(arguments: responses) func splitsDoNotChangeTheResult(response: String, expected: String) throws {
        let bytes = Array(response.utf8)
        #expect(try outcome(bytes).hasPrefix(expected))
        #expect(try outcome(bytes, cutAt: Array(1..<bytes.count)).hasPrefix(expected))
        for cut in 1..<bytes.count { #expect(try outcome(bytes, cutAt: [cut]).hasPrefix(expected), "cut at \(cut)") }
    }

    @Test func proxyAuthenticationRequiredIsReported() throws {
        let basic = "HTTP/1.1 407 x\r\nProxy-Authenticate: Basic realm=\"x\"\r\nProxy-Authenticate: Negotiate\r\n\r\n"
        #expect(
            try outcome(Array(basic.utf8), "http://proxy:3128")
                == "connect: the proxy http://proxy:3128 requires authentication, by \"Basic\" or \"Negotiate\" (407); "
                + "add a user name and password to its URL")
        #expect(
            try outcome(Array("HTTP/1.1 407 x\r\n\r\n".utf8), "http://proxy:3128")
                == "connect: the proxy http://proxy:3128 requires authentication (407); add a user name and password to its URL"
        )
    }

    @Test func laterBytesBelongToTheTunnel() throws {
        let bytes = Array("HTTP/1.1 200 OK\r\n\r\nearly".utf8)
        #expect(try outcome(bytes) == "open early")
        #expect(
            try outcome(bytes, to: "http://api.example/")
                == "protocol: bytes arrived through the tunnel to api.example:80 before the request was sent")
    }

    @Test func endOfTheConnectionIsReported() throws {
        #expect(
            try outcome(Array("HTTP/1.1 20".utf8), ends: true) == "connect: the proxy http://proxy:3128 closed the "
                + "connection before it responded to CONNECT api.example:443")
    }

    @Test func bytesBeforeTheRequestAreAnError() throws {
        var tunnel = try tunnel()
        var nothing = ByteBuffer()
        #expect(try !tunnel.received(&nothing))
        var bytes = ByteBuffer(string: "HTTP/1.1 200 OK\r\n\r\n")
        let error = #expect(throws: NightjarError.self) { try tunnel.received(&bytes) }
        #expect(error?.kind == .protocol)
    }

    @Test func responseOfTheProxyIsBounded() throws {
        for filler in ["X: y\r\n", String(repeating: "x", count: 1000)] {
            var tunnel = try tunnel()
            _ = try tunnel.start()
            var head = ByteBuffer(string: "HTTP/1.1 200 OK\r\n")
            #expect(try !tunnel.received(&head))
            let error = #expect(throws: NightjarError.self) {
                for _ in 0..<100_000 {
                    var more = ByteBuffer(string: filler)
                    _ = try tunnel.received(&more)
                }
            }
            #expect(error?.kind == .tooLarge)
        }
    }

    @Test func randomBytesDoNotTrap() throws {
        for seed in UInt64(1)...1000 {
            var random = SeededRandom(seed: seed)
            let garbage = random.bytes(Int.random(in: 0..<60, using: &random))
            let start = seed % 3 == 0 ? "" : seed % 3 == 1 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 "
            #expect(try !outcome(Array(start.utf8) + garbage, ends: true).isEmpty, "seed \(seed)")
        }
    }
}
