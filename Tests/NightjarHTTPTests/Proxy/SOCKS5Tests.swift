import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct SOCKS5Tests {
    private func machine(
        _ proxy: String = "socks5h://proxy", to target: String = "https://api.example/", address: String? = nil
    ) throws -> SOCKS5 {
        SOCKS5(to: try RequestURL(target).origin, address: address, through: try ProxyAddress(proxy))
    }

    /// Returns the sent bytes and the result. The proxy sends `responses`, regardless of the bytes that it receives.
    private func conversation(
        _ machine: SOCKS5, _ responses: [UInt8], cutAt cuts: [Int] = []
    ) -> (sent: [[UInt8]], end: String) {
        var machine = machine
        var sent: [[UInt8]] = []
        do throws(NightjarError) {
            sent.append(Array(try machine.start().readableBytesView))
            var rest = ByteBuffer()
            var start = 0
            for end in cuts + [responses.count] {
                rest.writeBytes(responses[start..<end])
                start = end
                events: while true {
                    switch try machine.received(&rest) {
                    case .wait: break events
                    case .send(let bytes): sent.append(Array(bytes.readableBytesView))
                    case .open:
                        #expect(machine.isOpen)
                        return (sent, "open " + String(buffer: rest))
                    }
                }
                #expect(rest.readableBytes == 0)
            }
            return (sent, "\(machine.endOfStream())")
        } catch {
            #expect(!machine.isOpen)
            #expect(error.phase == .connect)
            var more = ByteBuffer(bytes: [5, 0])
            #expect(throws: NightjarError.self) { try machine.received(&more) }
            return (sent, "\(error)")
        }
    }

    /// Checks the sent bytes and the result for each split of the responses.
    private func check(_ machine: SOCKS5, _ responses: [UInt8], sent: [[UInt8]], end: String) {
        let whole = conversation(machine, responses)
        #expect(whole.sent == sent)
        #expect(whole.end == end)
        guard responses.count > 1 else { return }
        #expect(conversation(machine, responses, cutAt: Array(1..<responses.count)).end == end)
        for cut in 1..<responses.count {
            let cutOnce = conversation(machine, responses, cutAt: [cut])
            #expect(cutOnce.sent == sent && cutOnce.end == end, "cut at \(cut)")
        }
    }

    private static let granted: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]
    private static func connect(_ name: String, _ port: UInt16) -> [UInt8] {
        [5, 1, 0, 3, UInt8(name.utf8.count)] + name.utf8 + [UInt8(port >> 8), UInt8(port & 255)]
    }

    @Test func nameIsSentToTheProxy() throws {
        check(
            try machine(), [5, 0] + Self.granted, sent: [[5, 1, 0], Self.connect("api.example", 443)], end: "open ")
    }

    @Test func addressIsSentToTheProxy() throws {
        check(
            try machine("socks5://proxy", address: "192.0.2.1"), [5, 0] + Self.granted,
            sent: [[5, 1, 0], [5, 1, 0, 1, 192, 0, 2, 1, 1, 0xBB]], end: "open ")
        check(
            try machine(to: "http://[2001:db8::1]:8080/"), [5, 0] + Self.granted,
            sent: [
                [5, 1, 0], [5, 1, 0, 4, 0x20, 1, 0x0D, 0xB8] + Array(repeating: 0, count: 11) + [1, 0x1F, 0x90],
            ], end: "open ")
    }

    @Test func credentialsAreSentOnRequest() throws {
        let machine = try machine("socks5h://u%40:s%C3%A9cret@proxy")
        let greeting: [UInt8] = [5, 2, 0, 2]
        let login: [UInt8] = [1, 2] + Array("u@".utf8) + [7] + Array("sécret".utf8)
        let connect = Self.connect("api.example", 443)
        check(machine, [5, 0] + Self.granted, sent: [greeting, connect], end: "open ")
        check(machine, [5, 2, 1, 0] + Self.granted, sent: [greeting, login, connect], end: "open ")
        check(machine, [5, 2, 5, 0] + Self.granted, sent: [greeting, login, connect], end: "open ")
        check(
            machine, [5, 2, 1, 1], sent: [greeting, login],
            end: "connect: the proxy socks5h://proxy:1080 rejected the user name and password")
        check(
            machine, [5, 2], sent: [greeting, login],
            end: "connect: the proxy socks5h://proxy:1080 closed the connection during the login; "
                + "check the user name and password")
        check(
            machine, [5, 0xFF], sent: [greeting],
            end:
                "connect: the proxy socks5h://proxy:1080 accepts neither a user name and password nor anonymous access"
        )
    }

    @Test func unofferedMethodIsRejected() throws {
        check(
            try machine(), [5, 0xFF], sent: [[5, 1, 0]],
            end:
                "connect: the proxy socks5h://proxy:1080 requires authentication; add a user name and password to its URL"
        )
        check(
            try machine(), [5, 2], sent: [[5, 1, 0]],
            end: "protocol: the proxy socks5h://proxy:1080 selected an authentication method (2) that was not offered")
    }

    @Test(
        arguments: [
            (1, "general failure"), (2, "its rules do not allow the connection"),
            (3, "the network is unreachable from the proxy"), (4, "the host is unreachable or unknown from the proxy"),
            (5, "the host refused the connection"),
            (6, "the route is too long or the host did not respond in time (TTL expired)"),
            (7, "it does not make outgoing connections (command not supported)"),
            (8, "it does not support this type of address (a name, IPv4 or IPv6)"),
            (9, "it returned the code 9, which RFC 1928 does not define"),
            (255, "it returned the code 255, which RFC 1928 does not define"),
        ] as [(UInt8, String)])
    func replyCodeIsReported(code: UInt8, reason: String) throws {
        let message = "connect: the proxy socks5h://proxy:1080 did not connect to api.example:443: \(reason)"
        let sent = [[5, 1, 0], Self.connect("api.example", 443)]
        check(try machine(), [5, 0, 5, code], sent: sent, end: message)
        check(try machine(), [5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0], sent: sent, end: message)
    }

    @Test func eachAddressTypeOfTheReplyIsRead() throws {
        let sent = [[5, 1, 0], Self.connect("api.example", 443)]
        for bound in [
            [4] + Array(repeating: UInt8(7), count: 16), [3, 0], [3, 255] + Array(repeating: UInt8(7), count: 255),
        ] { check(try machine(), [5, 0, 5, 0, 0] + bound + [0, 80], sent: sent, end: "open ") }
    }

    @Test func otherProtocolIsReported() throws {
        check(
            try machine(), Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), sent: [[5, 1, 0]],
            end: "protocol: the proxy socks5h://proxy:1080 does not speak SOCKS 5: its reply begins with \"HT\"; "
                + "it appears to be an HTTP proxy; use http:// in its URL")
        check(
            try machine(), [5, 0, 5, 0, 0, 2, 1], sent: [[5, 1, 0], Self.connect("api.example", 443)],
            end: "protocol: the proxy socks5h://proxy:1080 does not speak SOCKS 5: its reply begins with "
                + "\"\\x5\\x0\\x0\\x2\\x1\"")
        check(
            try machine(), [5], sent: [[5, 1, 0]],
            end: "connect: the proxy socks5h://proxy:1080 closed the connection before it had connected to "
                + "api.example:443")
    }

    @Test func laterBytesBelongToTheTunnel() throws {
        let responses = [5, 0] + Self.granted + Array("early".utf8)
        #expect(conversation(try machine(), responses).end == "open early")
        #expect(
            conversation(try machine(to: "http://api.example/"), responses).end
                == "protocol: bytes arrived from api.example:80 through the proxy before the request was sent")
    }

    /// RFC 1929 section 2.
    @Test func emptyAndTooLongCredentialsAreRejectedBeforeSending() throws {
        let (longUser, longPassword) = (String(repeating: "u", count: 256), String(repeating: "p", count: 256))
        for login in ["\(longUser):p", "u:\(longPassword)", ":p", "u:", "u"] {
            var machine = try machine("socks5h://\(login)@proxy")
            let error = #expect(throws: NightjarError.self) { try machine.start() }
            #expect(error?.kind == .invalidURL)
            #expect(error?.message.contains("ppp") == false)
        }
        var machine = try machine("socks5h://\(longUser.dropLast()):\(longPassword.dropLast())@proxy")
        _ = try machine.start()
    }

    @Test func bytesBeforeTheRequestAreAnError() throws {
        var machine = try machine()
        var nothing = ByteBuffer()
        #expect(try machine.received(&nothing) == .wait)
        var bytes = ByteBuffer(bytes: [5, 0])
        #expect(throws: NightjarError.self) { try machine.received(&bytes) }
    }

    @Test func randomBytesDoNotTrap() throws {
        let machines = [try machine(), try machine("socks5h://u:p@proxy")]
        for seed in UInt64(1)...2000 {
            var random = SeededRandom(seed: seed)
            var bytes = random.bytes(Int.random(in: 0..<300, using: &random))
            // Plausible values in the first eight bytes, so that most inputs are valid beyond the first byte.
            for index in bytes.indices.prefix(8) where Int.random(in: 0..<4, using: &random) > 0 {
                bytes[index] = [5, 0, 1, 2, 3, 4][Int.random(in: 0..<6, using: &random)]
            }
            #expect(!conversation(machines[Int(seed % 2)], bytes).end.isEmpty, "seed \(seed)")
        }
    }
}
