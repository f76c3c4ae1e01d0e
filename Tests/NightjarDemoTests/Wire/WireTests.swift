import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// The routes that control the behavior on the wire.
@Suite struct WireTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func content(_ count: Int) -> [UInt8] { (0..<count).map(DemoContent.byte(at:)) }

    @Test func requestIsEchoed() throws {
        let response = try demo.curl(
            "/echo?a=1&b=%26+x&a", ["-X", "PATCH", "-H", "X-One: 1", "-H", "x-one: 2", "-d", "hé"])
        let json = try response.json
        #expect(json["method"] as? String == "PATCH")
        #expect(json["target"] as? String == "/echo?a=1&b=%26+x&a")
        #expect(json["query"] as? [[String]] == [["a", "1"], ["b", "& x"], ["a", ""]])
        let headers = try #require(json["headers"] as? [[String]])
        #expect(headers.filter { $0[0].lowercased() == "x-one" } == [["X-One", "1"], ["x-one", "2"]])
        #expect(json["body"] as? String == "hé")
        #expect(json["body_encoding"] as? String == "text")
    }

    @Test(arguments: [[0xFF], [0xFF, 0], [0xFF, 0, 0x3E], [0xFF, 0, 0x3E, 0x3F]] as [[UInt8]])
    func bytesAreEchoedInBase64(bytes: [UInt8]) throws {
        let json = try demo.curl("/echo", ["--data-binary", "@-"], input: Bytes(bytes)).json
        #expect(json["body_encoding"] as? String == "base64")
        #expect(json["body"] as? String == Data(bytes).base64EncodedString())
        #expect(json["body_bytes"] as? Int == bytes.count)
    }

    @Test(arguments: [200, 204, 304, 404, 418, 500, 599])
    func anyStatusIsSent(code: Int) throws {
        for method in ["GET", "POST", "PURGE"] {
            #expect(try demo.curl("/status/\(code)", ["-X", method]).status == code)
        }
    }

    @Test func requiredFieldsOfAStatusAreSent() throws {
        #expect(try demo.curl("/status/401")["WWW-Authenticate"] != nil)
        #expect(try demo.curl("/status/405")["Allow"] != nil)
        #expect(try demo.curl("/status/199").status == 404)
        #expect(try demo.curl("/status/600").status == 404)
    }

    @Test func responseIsDelayed() throws {
        let start = ContinuousClock.now
        #expect(try demo.curl("/delay/0.2").status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(200))
        #expect(try demo.curl("/delay/61").status == 404)
        #expect(try demo.curl("/delay/nan").status == 404)
    }

    @Test(arguments: [0, 1, 65_520, 65_521, 65_522, 200_000])
    func bytesAreDeterministic(count: Int) throws {
        let expected = content(count)
        let sized = try demo.curl("/bytes/\(count)")
        #expect(sized["Content-Length"] == String(count))
        #expect(sized.body == expected)
        let chunked = try demo.curl("/stream/\(count)?chunk=10007")
        #expect(chunked["Transfer-Encoding"] == "chunked")
        #expect(chunked["Content-Length"] == nil)
        #expect(chunked.body == expected)
    }

    @Test func bodyIsStreamedInIntervals() throws {
        let start = ContinuousClock.now
        #expect(try demo.curl("/stream/40?chunk=10&delay=0.03").body == content(40))
        #expect(ContinuousClock.now - start >= .milliseconds(90))
        let drip = try demo.curl("/drip?bytes=4&delay=0.03")
        #expect(ContinuousClock.now - start >= .milliseconds(180))
        #expect(drip["Content-Length"] == "4")
        #expect(drip.body == content(4))
    }

    @Test func trailersAreSent() throws {
        let client = try demo.connect()
        try client.send("GET /trailers?bytes=3 HTTP/1.1\r\nHost: x\r\n\r\n")
        let response = try client.receive(through: "0\r\nX-Length: 3\r\nX-CRC32: \(crc(content(3)))\r\n\r\n")
        #expect(Bytes(response).text.contains("Trailer: X-Length, X-CRC32\r\n"))
    }

    @Test func interimResponsesPrecedeTheFinalOne() throws {
        #expect(try demo.curl("/informational?count=3").interim == [103, 103, 103])
        let old = try demo.curl("/informational", ["--http1.0"])
        #expect(old.interim == [])
        #expect(old.status == 200)
    }

    @Test func largeHeadersAreSent() throws {
        let response = try demo.curl("/headers/large?bytes=20001&fields=2")
        #expect(response["X-Large-1"]?.count == 10_001)
        #expect(response["X-Large-2"]?.count == 10_000)
    }

    @Test func uploadsAreChecksummed() throws {
        let bytes = content(300_000)
        for arguments in [[], ["-H", "Transfer-Encoding: chunked"], ["-X", "PUT"]] {
            let json = try demo.curl("/upload", ["--data-binary", "@-"] + arguments, input: Bytes(bytes)).json
            #expect(json["bytes"] as? Int == 300_000)
            #expect(json["crc32"] as? String == crc(bytes))
        }
    }

    @Test func uploadIsReadAtTheRequestedRate() throws {
        let start = ContinuousClock.now
        let response = try demo.curl(
            "/upload?rate=1000000", ["-H", "Expect:", "--data-binary", "@-"], input: Bytes(content(300_000)))
        #expect(response.status == 200)
        #expect(ContinuousClock.now - start >= .milliseconds(200))
    }

    /// Requests 1 GiB and does not read it. The server may only fill its own buffers and those of the sockets.
    @Test func slowReaderUsesNoMemory() throws {
        let client = try Socket(connectingTo: demo.port, receiveBuffer: 4096)
        try client.send("GET /bytes/1073741824 HTTP/1.1\r\nHost: x\r\n\r\n")
        _ = try client.receive(atMost: 100)
        try eventually("the server stopped sending") {
            let before = demo.server.statistics.bytesOut
            usleep(20_000)
            return demo.server.statistics.bytesOut == before
        }
        #expect(demo.server.statistics.bytesOut < 16 << 20)
        client.close()
        try eventually("the connection ended") { demo.server.statistics.connectionsOpen == 0 }
    }

    /// Computes the CRC-32 bit by bit, to verify the server's implementation.
    private func crc(_ bytes: [UInt8]) -> String {
        var register = UInt32.max
        for byte in bytes {
            register ^= UInt32(byte)
            for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return String(format: "%08x", ~register)
    }
}
