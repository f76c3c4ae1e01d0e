import Foundation
import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTestSupport
import Testing

@Suite(.serialized) struct DecompressionBombTests {
    /// Compresses zeros with gzip and decodes them, one block at a time.
    private func bomb(
        _ stack: inout CodingStack, zeros: Int, delivered: inout Int
    ) throws(NightjarError) {
        var encoder = try GzipEncoder(level: 9)
        let block = ByteBuffer(repeating: 0, count: 1 << 20)
        var pending: [ByteBuffer] = []
        for _ in 0..<(zeros >> 20) {
            try encoder.encode(block) { pending.append($0) }
            for part in pending { try stack.decode(part) { delivered += $0.readableBytes } }
            pending.removeAll()
        }
        try encoder.finish { pending.append($0) }
        for part in pending { try stack.decode(part) { delivered += $0.readableBytes } }
        try stack.finish()
    }

    private func failure(zeros: Int, _ limits: DecodingLimits, delivered: inout Int) -> NightjarError? {
        do throws(NightjarError) {
            var stack = try CodingStack(codings: [.gzip], limits: limits)
            try bomb(&stack, zeros: zeros, delivered: &delivered)
            return nil
        } catch {
            return error
        }
    }

    @Test func tenGigabyteBombStopsAtTheMaximum() {
        var delivered = 0
        let limits = DecodingLimits(maximumBytes: 50_000_000, maximumRatio: .max)
        let error = failure(zeros: 10 << 30, limits, delivered: &delivered)
        #expect(error?.kind == .tooLarge)
        #expect(
            error?.message == "the decoded body is larger than 50000000 bytes; raise max_body or stream the response")
        #expect(delivered <= 50_000_000)
        #expect(delivered > 50_000_000 - CodingStack.maximumPart)
    }

    @Test func tenGigabyteBombStopsAtTheRatio() {
        var delivered = 0
        let error = failure(zeros: 10 << 30, DecodingLimits(maximumBytes: .max), delivered: &delivered)
        #expect(error?.kind == .tooLarge)
        #expect(error?.message.contains("1000 times") == true)
        #expect(delivered < 64 << 20)
    }

    @Test func allowedGigabyteUsesNoMemory() throws {
        let member = Form.gzip.encode([UInt8](repeating: 0, count: 16 << 20))
        let before = try residentBytes()
        var stack = try CodingStack(
            codings: [.gzip], limits: DecodingLimits(maximumBytes: .max, maximumRatio: .max))
        var delivered = 0
        for _ in 0..<64 { try stack.decode(ByteBuffer(bytes: member)) { delivered += $0.readableBytes } }
        try stack.finish()
        #expect(delivered == 1 << 30)
        // Other tests allocate memory at the same time, so the bound is large.
        #expect(try residentBytes() - before < 256 << 20)
    }

    @Test func exactlyTheMaximumIsAllowed() throws {
        let bytes = sample(200_000)
        for form in Form.allCases {
            let encoded = form.encode(bytes)
            let fitting = DecodingLimits(maximumBytes: bytes.count)
            #expect(try decode([encoded], [form.coding], limits: fitting) == bytes)
            #expect(try decode([form.encode(encoded)], [form.coding, form.coding], limits: fitting) == bytes)
            let short = DecodingLimits(maximumBytes: bytes.count - 1)
            #expect(NightjarCodingTests.failure([encoded], [form.coding], limits: short)?.kind == .tooLarge)
        }
    }

    @Test func shortBodyOfEqualBytesIsNotABomb() throws {
        let zeros = [UInt8](repeating: 0, count: 1 << 20)
        for form in Form.allCases {
            #expect(try decode([form.encode(zeros)], [form.coding]) == zeros)
        }
    }

    /// Each layer stays below the maximum ratio, but the body as a whole does not.
    @Test func ratiosOfLayersDoNotMultiply() {
        let zeros = [UInt8](repeating: 0, count: 8 << 20)
        for form in Form.allCases {
            let twice = Form.gzip.encode(form.encode(zeros))
            let limits = DecodingLimits(maximumBytes: .max, maximumRatio: 2000)
            #expect(NightjarCodingTests.failure([twice], [form.coding, .gzip], limits: limits)?.kind == .tooLarge)
        }
    }

    /// The data between the layers is bounded even if the last layer outputs nothing.
    @Test func bombWithoutOutputStops() {
        let empty = Form.gzip.encode([])
        var members: [UInt8] = []
        for _ in 0..<(4 << 20) / empty.count { members += empty }
        let limits = DecodingLimits(maximumBytes: 1 << 20, maximumRatio: .max)
        let error = NightjarCodingTests.failure([Form.brotli.encode(members)], [.gzip, .brotli], limits: limits)
        #expect(error?.kind == .tooLarge)
    }

    // MARK: The window of zstd

    @Test func windowOfEightMebibytesIsAccepted() throws {
        let bytes = Array(repeatElement(sample(1 << 20), count: 10).joined())
        #expect(try decode([zstdEncoded(bytes, windowLog: 23)], [.zstd]) == bytes)
    }

    @Test func largerWindowIsRejected() {
        // Frame headers with windows of 16 MiB and 2 GiB: magic, descriptor, exponent << 3 (RFC 8878 section 3.1.1).
        for exponent: UInt8 in [14, 21] {
            let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x00, exponent << 3, 0x01, 0x00, 0x00]
            #expect(NightjarCodingTests.failure([frame], [.zstd])?.kind == .tooLarge)
        }
    }

    /// The limit also applies to a frame that arrives whole. This frame has a content size of 0 and an empty last
    /// block.
    @Test func largerWindowIsRejectedForEmptyContent() {
        let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0x80, 14 << 3, 0, 0, 0, 0, 0x01, 0x00, 0x00]
        #expect(NightjarCodingTests.failure([frame], [.zstd])?.kind == .tooLarge)
        #expect(NightjarCodingTests.failure(frame.map { [$0] }, [.zstd])?.kind == .tooLarge)
    }

    /// The resident memory of this process, in bytes.
    private func residentBytes() throws -> Int {
        let statm = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
        return try #require(statm.split(separator: " ").dropFirst().first.flatMap { Int($0) }) * 4096
    }
}
