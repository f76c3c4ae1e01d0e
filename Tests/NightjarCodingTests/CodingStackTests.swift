import NIOCore
import NightjarCoding
import NightjarHTTP
import NightjarTestSupport
import Testing

@Suite struct CodingStackTests {
    private let limits = DecodingLimits(maximumBytes: 1 << 30)

    @Test(.enabled(if: !isSanitized)) func exhaustedMemoryIsReported() async {
        await #expect(processExitsWith: .success) {
            let limits = DecodingLimits(maximumBytes: 1 << 30)
            let error = #expect(throws: NightjarError.self) {
                try withoutMemory { _ = try CodingStack(codings: [.zstd], limits: limits) }
            }
            #expect(error?.kind == .noMemory)
        }
    }

    // MARK: Whole and split input

    @Test(arguments: Form.allCases, [0, 1, 100, 65_536, 300_000])
    func completeBodyIsDecoded(form: Form, count: Int) throws {
        let bytes = sample(count)
        #expect(try decode([form.encode(bytes)], [form.coding]) == bytes)
    }

    @Test(arguments: Form.allCases)
    func bodyIsDecodedByteByByte(form: Form) throws {
        let bytes = sample(3000)
        #expect(try decode(form.encode(bytes).map { [$0] }, [form.coding]) == bytes)
    }

    @Test(arguments: Form.allCases)
    func bodySplitAtEveryByteIsDecoded(form: Form) throws {
        let bytes = sample(600)
        let encoded = form.encode(bytes)
        for cut in 0...encoded.count {
            let pieces = [Array(encoded[..<cut]), [], Array(encoded[cut...])]
            try #require(try decode(pieces, [form.coding]) == bytes, "cut at \(cut)")
        }
    }

    @Test(arguments: Form.allCases)
    func decodedBytesAreDeliveredImmediately(form: Form) throws {
        let bytes = sample(500_000)
        let encoded = form.encode(bytes)
        var stack = try CodingStack(codings: [form.coding], limits: limits)
        var largest = 0
        var smallest = Int.max
        var total = 0
        let half = encoded.count / 2
        try stack.decode(ByteBuffer(bytes: encoded[..<half])) { (part) throws(NightjarError) in
            largest = max(largest, part.readableBytes)
            smallest = min(smallest, part.readableBytes)
            total += part.readableBytes
        }
        #expect(total > 100_000)
        #expect(largest <= CodingStack.maximumPart)
        #expect(smallest > 0)
        try stack.decode(ByteBuffer(bytes: encoded[half...])) { total += $0.readableBytes }
        try stack.finish()
        #expect(total == bytes.count)
    }

    @Test(arguments: ContentCoding.allCases)
    func emptyBodyIsDecoded(coding: ContentCoding) throws {
        #expect(try decode([], [coding]) == [])
        #expect(try decode([[], []], [coding, coding]) == [])
    }

    /// Each call of `next` returns one bounded part, even if the body expands a thousandfold.
    @Test(arguments: Form.allCases)
    func partsAreDeliveredOneAtATime(form: Form) throws {
        let twice = Form.gzip.encode(form.encode([UInt8](repeating: 0, count: 1 << 20)))
        var stack = try CodingStack(codings: [form.coding, .gzip], limits: limits)
        try stack.add(ByteBuffer(bytes: twice))
        var total = 0
        while let part = try stack.next() {
            #expect((1...CodingStack.maximumPart).contains(part.readableBytes))
            total += part.readableBytes
        }
        #expect(total == 1 << 20)
        for _ in 0..<100 { #expect(try stack.next() == nil) }
        try stack.finish()
    }

    @Test func inputIsAcceptedWhilePartsArePending() throws {
        let bytes = sample(400_000)
        let encoded = Form.zstd.encode(bytes)
        var stack = try CodingStack(codings: [.zstd], limits: limits)
        var output: [UInt8] = []
        for start in stride(from: 0, to: encoded.count, by: 5000) {
            try stack.add(ByteBuffer(bytes: encoded[start..<min(start + 5000, encoded.count)]))
            if let part = try stack.next() { output += part.readableBytesView }
        }
        do throws(NightjarError) {
            try stack.finish()
            Issue.record("finish succeeded although parts are unread")
        } catch {
            #expect(error.kind == .invalidArgument)
        }
        while let part = try stack.next() { output += part.readableBytesView }
        try stack.finish()
        #expect(output == bytes)
    }

    @Test(arguments: Form.allCases)
    func flushedBytesAreDelivered(form: Form) throws {
        let encoder = FlushingEncoder(form)
        var stack = try CodingStack(codings: [form.coding], limits: limits)
        for line in ["data: 1\n\n", "data: 2\n\n", String(repeating: "data: long\n\n", count: 1000)] {
            var decoded = ""
            try stack.decode(ByteBuffer(bytes: encoder.flush(Array(line.utf8)))) { decoded += String(buffer: $0) }
            #expect(decoded == line)
        }
    }

    // MARK: Damaged input

    @Test(arguments: Form.allCases)
    func bodyTruncatedAtAnyByteIsAnError(form: Form) throws {
        let encoded = form.encode(sample(600))
        for length in 1..<encoded.count {
            let error = failure([Array(encoded[..<length])], [form.coding])
            try #require(error?.kind == .decoding, "cut at \(length)")
            try #require(error?.message.contains("truncated") == true)
            try #require(error?.phase == .receive && error?.requestMayHaveBeenProcessed == true)
        }
    }

    @Test(arguments: Form.allCases)
    func innerTruncationIsAnError(form: Form) throws {
        let inner = form.encode(sample(600))
        for length in stride(from: 1, to: inner.count, by: 7) {
            let outer = Form.gzip.encode(Array(inner[..<length]))
            try #require(failure([outer], [form.coding, .gzip])?.kind == .decoding)
        }
    }

    @Test(arguments: Form.allCases)
    func flippedBytesDoNotCrash(form: Form) throws {
        let bytes = sample(400)
        let encoded = form.encode(bytes)
        let tight = DecodingLimits(maximumBytes: 1 << 22)
        for index in encoded.indices {
            for flip: UInt8 in [0x01, 0x80, 0xFF] {
                var corrupted = encoded
                corrupted[index] ^= flip
                guard let error = failure([corrupted], [form.coding], limits: tight) else { continue }
                try #require(error.kind == .decoding || error.kind == .tooLarge, "byte \(index), flip \(flip)")
                try #require(!error.message.isEmpty)
            }
        }
    }

    @Test(arguments: [Form.gzip, .zlib, .zstd])
    func flippedByteIsDetected(form: Form) throws {
        let bytes = sample(400)
        let encoded = form.encode(bytes)
        for index in encoded.indices {
            var corrupted = encoded
            corrupted[index] ^= 0x10
            // Bytes that do not affect the content, such as gzip's time, can change undetected.
            let decoded = try? decode([corrupted], [form.coding])
            try #require(decoded == nil || decoded == bytes, "byte \(index)")
        }
    }

    @Test(arguments: Form.allCases)
    func dataAfterTheEndIsAnError(form: Form) {
        let encoded = form.encode(sample(100))
        for tail in [[0], Array("garbage".utf8), [0x1F], [0x28]] as [[UInt8]] {
            #expect(failure([encoded + tail], [form.coding])?.kind == .decoding)
            #expect(failure([encoded, tail], [form.coding])?.kind == .decoding)
        }
    }

    @Test(arguments: [Form.gzip, .zstd])
    func concatenatedMembersAreDecoded(form: Form) throws {
        let first = sample(1000, seed: 1)
        let second = sample(70_000, seed: 2)
        let encoded = form.encode(first) + form.encode([]) + form.encode(second)
        #expect(try decode([encoded], [form.coding]) == first + second)
        #expect(try decode(encoded.map { [$0] }, [form.coding]) == first + second)
    }

    @Test func skippableFramesAreSkipped() throws {
        let bytes = sample(100)
        let skippable: [UInt8] = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
        #expect(try decode([skippable + zstdEncoded(bytes) + skippable], [.zstd]) == bytes)
    }

    /// The formats of early zstd versions are not part of RFC 8878.
    @Test(arguments: [0x1E, 0x22, 0x25, 0x26, 0x27] as [UInt8])
    func oldZstdFormatsAreRejected(first: UInt8) {
        #expect(failure([[first, 0xB5, 0x2F, 0xFD, 0, 0, 0, 0]], [.zstd])?.kind == .decoding)
    }

    @Test(arguments: ContentCoding.allCases)
    func plainTextIsRejected(coding: ContentCoding) {
        let text = Array("{\"this\": \"is not encoded at all\"}".utf8)
        #expect(failure([text], [coding])?.kind == .decoding)
        #expect(failure(text.map { [$0] }, [coding])?.kind == .decoding)
    }

    @Test func failedStackReportsTheSameError() throws {
        var stack = try CodingStack(codings: [.gzip], limits: limits)
        var messages: Set<String> = []
        for _ in 0..<2 {
            do throws(NightjarError) {
                try stack.decode(ByteBuffer(string: "no gzip")) { _ in }
            } catch { messages.insert(error.message) }
        }
        do throws(NightjarError) { try stack.finish() } catch { messages.insert(error.message) }
        #expect(messages.count == 1)
    }

    @Test func receiverErrorStopsTheDecoding() throws {
        var stack = try CodingStack(codings: [.gzip], limits: limits)
        let encoded = ByteBuffer(bytes: Form.gzip.encode(sample(300_000)))
        var calls = 0
        do throws(NightjarError) {
            try stack.decode(encoded) { (_) throws(NightjarError) in
                calls += 1
                throw NightjarError(.cancelled, "enough")
            }
            Issue.record("decoding continued")
        } catch {
            #expect(error.kind == .cancelled)
        }
        #expect(calls == 1)
    }

    @Test func nothingIsDeliveredAfterTheEnd() throws {
        var stack = try CodingStack(codings: [.gzip], limits: limits)
        try stack.decode(ByteBuffer(bytes: Form.gzip.encode([1]))) { _ in }
        try stack.finish()
        do throws(NightjarError) {
            try stack.decode(ByteBuffer(bytes: [1])) { _ in }
            Issue.record("decoding continued")
        } catch {
            #expect(error.kind == .invalidArgument)
        }
    }

    // MARK: Stacks

    @Test func lastCodingIsDecodedFirst() throws {
        let bytes = sample(5000)
        for first in Form.allCases {
            for second in Form.allCases {
                let encoded = second.encode(first.encode(bytes))
                try #require(try decode([encoded], [first.coding, second.coding]) == bytes)
            }
        }
        let four = Form.gzip.encode(Form.zstd.encode(Form.brotli.encode(Form.zlib.encode(bytes))))
        #expect(try decode(four.map { [$0] }, [.deflate, .brotli, .zstd, .gzip]) == bytes)
    }

    @Test func moreThanFourCodingsAreRejected() {
        #expect(failure([], [])?.kind == .decoding)
        #expect(failure([], Array(repeating: .gzip, count: 5))?.kind == .decoding)
    }

    // MARK: Field values

    @Test func contentEncodingIsRead() {
        #expect(ContentCoding.list(from: ["gzip"]) == [.gzip])
        #expect(ContentCoding.list(from: ["X-GZip"]) == [.gzip])
        #expect(ContentCoding.list(from: [" deflate,\tBR ", "zstd"]) == [.deflate, .brotli, .zstd])
        #expect(ContentCoding.list(from: ["identity, gzip,, identity"]) == [.gzip])
        #expect(ContentCoding.list(from: [""]) == [])
        #expect(ContentCoding.list(from: [String]()) == [])
        #expect(ContentCoding.list(from: ["gzip, compress"]) == nil)
        #expect(ContentCoding.list(from: ["gzip;q=1"]) == nil)
        #expect(ContentCoding.list(from: ["aes128gcm"]) == nil)
    }

    @Test(arguments: ["", "identity", "compress", "gzip, foo", "foo, gzip"])
    func unknownCodingIsNotDecoded(value: String) throws {
        switch try CodingStack(contentEncoding: [value], limits: limits) {
        case .none: break
        case .some: Issue.record("the body would be decoded")
        }
    }

    @Test func namedCodingsAreDecoded() throws {
        let bytes = sample(1000)
        guard var stack = try CodingStack(contentEncoding: ["deflate, identity", "GZIP"], limits: limits) else {
            Issue.record("the body is not decoded")
            return
        }
        var output: [UInt8] = []
        let encoded = Form.gzip.encode(Form.zlib.encode(bytes))
        try stack.decode(ByteBuffer(bytes: encoded)) { output += $0.readableBytesView }
        try stack.finish()
        #expect(output == bytes)
    }
}
