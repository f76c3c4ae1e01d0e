import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTestSupport
import Testing

@Suite struct GzipEncoderTests {
    private func encode(_ pieces: [[UInt8]], level: Int = 6) throws -> [UInt8] {
        var encoder = try GzipEncoder(level: level)
        var output: [UInt8] = []
        for piece in pieces {
            try encoder.encode(ByteBuffer(bytes: piece)) { output += $0.readableBytesView }
        }
        try encoder.finish { output += $0.readableBytesView }
        return output
    }

    @Test(arguments: [-1, 1, 6, 9, 100])
    func outputIsReadByGzip(level: Int) throws {
        let bytes = sample(300_000)
        let encoded = try encode([Array(bytes[..<100]), Array(bytes[100...])], level: level)
        #expect(encoded.count < bytes.count * 3 / 4)
        #expect(try run("gzip", ["-dc"], input: Bytes(encoded)).output == bytes)
    }

    @Test func piecesAndEmptyContentAreEncoded() throws {
        let bytes = sample(2000)
        #expect(try decode([encode(bytes.map { [$0] })], [.gzip]) == bytes)
        #expect(try decode([encode([])], [.gzip]) == [])
        #expect(try encode([]).count == 20)
    }

    @Test(.enabled(if: !isSanitized)) func exhaustedMemoryIsReported() async {
        await #expect(processExitsWith: .success) {
            let error = #expect(throws: NightjarError.self) { try withoutMemory { _ = try GzipEncoder() } }
            #expect(error?.kind == .noMemory)
        }
    }

    @Test func outputIsDeterministic() throws {
        let bytes = sample(50_000)
        #expect(try encode([bytes]) == encode([bytes]))
    }

    @Test func incompressibleContentHasBoundedParts() throws {
        var random = SeededRandom(seed: 3)
        var encoder = try GzipEncoder()
        var sizes: [Int] = []
        try encoder.encode(ByteBuffer(bytes: random.bytes(500_000))) { sizes.append($0.readableBytes) }
        try encoder.finish { sizes.append($0.readableBytes) }
        #expect(sizes.allSatisfy { (1...CodingStack.maximumPart).contains($0) })
        #expect(sizes.reduce(0, +) > 500_000)
    }

    @Test func flushedContentIsDecodable() throws {
        var encoder = try GzipEncoder()
        var stack = try CodingStack(codings: [.gzip], limits: DecodingLimits(maximumBytes: 1 << 20))
        for line in ["first line\n", "second line\n"] {
            var encoded: [ByteBuffer] = []
            try encoder.encode(ByteBuffer(string: line)) { encoded.append($0) }
            try encoder.flush { encoded.append($0) }
            try encoder.flush { encoded.append($0) }
            var decoded = ""
            for part in encoded { try stack.decode(part) { decoded += String(buffer: $0) } }
            #expect(decoded == line)
        }
    }

    @Test func nothingIsWrittenAfterTheEnd() throws {
        var encoder = try GzipEncoder()
        try encoder.finish { _ in }
        do throws(NightjarError) {
            try encoder.finish { _ in }
            Issue.record("encoding continued")
        } catch {
            #expect(error.kind == .invalidArgument)
        }
    }
}
