import NightjarCoding
import NightjarTestSupport
import Testing

/// Bodies that other programs compressed.
@Suite struct ToolTests {
    @Test(arguments: [
        ("gzip", ["-1c"], ContentCoding.gzip), ("gzip", ["-9c"], .gzip),
        ("brotli", ["-c", "-q", "1"], .brotli), ("brotli", ["-c", "-q", "11", "-w", "24"], .brotli),
        ("zstd", ["-c", "-1"], .zstd), ("zstd", ["-c", "-19"], .zstd), ("zstd", ["-c", "--no-check"], .zstd),
        // The zlib form of deflate, created with Python's zlib module.
        (
            "python3",
            ["-c", "import sys, zlib; sys.stdout.buffer.write(zlib.compress(sys.stdin.buffer.read(), 1))"], .deflate
        ),
    ])
    func outputOfToolsIsDecoded(tool: String, arguments: [String], coding: ContentCoding) throws {
        let bytes = sample(200_000, seed: 9)
        let result = try run(tool, arguments, input: Bytes(bytes))
        try #require(result.status == 0, "\(result.errors)")
        #expect(try decode([result.output], [coding]) == bytes)
        let pieces = stride(from: 0, to: result.output.count, by: 1460).map {
            Array(result.output[$0..<min($0 + 1460, result.output.count)])
        }
        #expect(try decode(pieces, [coding]) == bytes)
    }

    /// The output of `zstd --long` exceeds the window that RFC 9659 allows.
    @Test func longWindowIsRejected() throws {
        let bytes = [UInt8](repeating: 7, count: 20 << 20)
        let result = try run("zstd", ["-c", "--long=27"], input: Bytes(bytes))
        try #require(result.status == 0, "\(result.errors)")
        #expect(failure([result.output], [.zstd])?.kind == .tooLarge)
    }

    /// A gzip header with a file name, which is unusual in HTTP.
    @Test func fileNameInTheHeaderIsSkipped() throws {
        let folder = try TemporaryDirectory()
        let bytes = sample(1000)
        try folder.write("named.txt", Bytes(bytes))
        let result = try run("gzip", ["-kNc", folder.file("named.txt")])
        #expect(Bytes(result.output).text.contains("named.txt"))
        #expect(try decode([result.output], [.gzip]) == bytes)
    }
}
