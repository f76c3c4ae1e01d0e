import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

@Suite struct EncodingTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func content(_ count: Int) -> [UInt8] { (0..<count).map(DemoContent.byte(at:)) }

    @Test(arguments: [("gzip", ["gzip", "-dc"]), ("br", ["brotli", "-dc"]), ("zstd", ["zstd", "-qdc"])])
    func toolsDecodeTheContent(coding: String, tool: [String]) throws {
        for count in [0, 1, 100_000] {
            let response = try demo.curl("/encoded/\(coding)?bytes=\(count)")
            #expect(response["Content-Encoding"] == coding)
            let decoded = try run(tool[0], Array(tool[1...]), input: Bytes(response.body))
            #expect(decoded.status == 0)
            #expect(decoded.output == content(count))
        }
    }

    @Test(arguments: [("deflate", 15), ("deflate-raw", -15)])
    func pythonDecodesDeflate(name: String, windowBits: Int) throws {
        let response = try demo.curl("/encoded/\(name)?bytes=5000")
        #expect(response["Content-Encoding"] == "deflate")
        let program =
            "import sys, zlib; sys.stdout.buffer.write(zlib.decompress(sys.stdin.buffer.read(), \(windowBits)))"
        #expect(try run("python3", ["-c", program], input: Bytes(response.body)).output == content(5000))
    }

    @Test func codingsAreStacked() throws {
        let response = try demo.curl("/encoded/gzip+br?bytes=5000")
        #expect(response["Content-Encoding"] == "gzip, br")
        let inner = try run("brotli", ["-dc"], input: Bytes(response.body)).output
        #expect(try run("gzip", ["-dc"], input: Bytes(inner)).output == content(5000))
    }

    @Test func curlDecodesTheDocument() throws {
        for coding in ["gzip", "deflate", "deflate-raw", "br", "gzip?chunk=7", "identity"] {
            let json = try demo.curl("/encoded/\(coding)", ["--compressed"]).json
            #expect((json["text"] as? String)?.contains("nightjar") == true)
            #expect((json["accept_encoding"] as? [String])?.first?.contains("gzip") == true)
        }
        #expect(try demo.curl("/encoded/gzip?chunk=7")["Transfer-Encoding"] == "chunked")
        #expect(try demo.curl("/encoded/lzma").status == 404)
        #expect(try demo.curl("/encoded/gzip+").status == 404)
    }

    @Test(arguments: ["broken", "truncated"])
    func toolsRejectCorruptContent(corrupt: String) throws {
        for (coding, tool) in [("gzip", "gzip"), ("br", "brotli"), ("zstd", "zstd")] {
            let response = try demo.curl("/encoded/\(corrupt)?coding=\(coding)&bytes=20000")
            #expect(response["Content-Encoding"] == coding)
            #expect(response["Content-Length"] == String(response.body.count))
            #expect(try run(tool, ["-dc"], input: Bytes(response.body)).status != 0, "\(coding)")
        }
    }

    @Test func oddEncodingsAreSent() throws {
        #expect(try demo.curl("/encoded/trailing?coding=br").text.hasSuffix("something else"))
        let empty = try demo.curl("/encoded/empty?coding=zstd")
        #expect(empty["Content-Encoding"] == "zstd")
        #expect(empty["Content-Length"] == "0")
        let unknown = try demo.curl("/encoded/unknown")
        #expect(unknown["Content-Encoding"] == "x-demo")
        #expect(try unknown.json["coding"] as? String == "x-demo")
        #expect(try demo.curl("/encoded/broken?coding=identity").status == 400)
    }

    @Test func requestBodyIsDecoded() throws {
        let text = String(repeating: "hello ", count: 20_000)
        let gzip = try run("gzip", ["-c"], input: Bytes(text.utf8)).output
        let encoded = ["-H", "Content-Encoding: gzip", "--data-binary", "@-"]
        let json = try demo.curl("/decoded", encoded, input: Bytes(gzip)).json
        #expect(json["body"] as? String == text)
        #expect(json["encoded_bytes"] as? Int == gzip.count)
        for corrupted in [Array(gzip.dropLast()), gzip + [0], Array(text.utf8)] {
            #expect(try demo.curl("/decoded", encoded, input: Bytes(corrupted)).status == 400)
        }
        #expect(try demo.curl("/decoded", ["-d", "plain"]).json["body"] as? String == "plain")
        let unknown = try demo.curl("/decoded", ["-H", "Content-Encoding: br", "-d", "x"])
        #expect(unknown.status == 415)
        #expect(unknown["Accept-Encoding"] == "gzip")
    }

    @Test(arguments: [0, 1, 1 << 20, (3 << 20) + 5])
    func bombIsGzip(count: Int) throws {
        let response = try demo.curl("/encoded/bomb?bytes=\(count)")
        #expect(response["Content-Encoding"] == "gzip")
        let decoded = try run("gzip", ["-dc"], input: Bytes(response.body))
        #expect(decoded.status == 0, "\(decoded.errors)")
        #expect(decoded.output.count == count)
        #expect(decoded.output.allSatisfy { $0 == 0 })
    }

    @Test func tenGigabyteBombIsSmall() throws {
        let head = try demo.curl("/encoded/bomb", ["-I"])
        let length = try #require(head["Content-Length"].flatMap { Int($0) })
        #expect(length < 12_000_000)
        // A smaller body is enough to verify the checksum.
        let body = try demo.curl("/encoded/bomb?bytes=123456789").body
        #expect(try run("gzip", ["-t"], input: Bytes(body)).status == 0)
    }
}
