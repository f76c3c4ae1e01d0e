import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct WebSocketFrameTests {
    private func frame(
        _ opcode: WebSocketFrame.Opcode, _ payload: [UInt8], isFinal: Bool = true, mask: UInt32 = 0x37FA_213D
    ) throws -> [UInt8] {
        var output = ByteBuffer()
        try WebSocketFrameEncoder.write(
            opcode, isFinal: isFinal, ByteBuffer(bytes: payload), mask: mask, into: &output)
        return Array(output.readableBytesView)
    }

    /// The examples of RFC 6455 section 5.7.
    @Test func examplesOfTheSpecificationAreWritten() throws {
        #expect(
            try frame(.text, Array("Hello".utf8))
                == [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        #expect(
            try frame(.pong, Array("Hello".utf8))
                == [0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58])
        #expect(
            try frame(.text, Array("Hel".utf8), isFinal: false, mask: 0) == [0x01, 0x83, 0, 0, 0, 0, 0x48, 0x65, 0x6C])
    }

    @Test(
        arguments: [
            (0, [0x82, 0x80]), (125, [0x82, 0xFD]), (126, [0x82, 0xFE, 0x00, 0x7E]), (65535, [0x82, 0xFE, 0xFF, 0xFF]),
            (65536, [0x82, 0xFF, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])])
    func lengthIsMinimal(count: Int, header: [UInt8]) throws {
        let bytes = try frame(.binary, [UInt8](repeating: 0, count: count), mask: 0)
        #expect(Array(bytes[..<header.count]) == header)
        #expect(bytes.count == header.count + 4 + count)
    }

    @Test func maskIsAppliedToEveryByte() {
        let key: [UInt8] = [0x12, 0x34, 0x56, 0x78]
        for count in 0..<40 {
            for offset in 0..<8 {
                let source = (0..<offset + count).map { UInt8(truncatingIfNeeded: $0 * 31) }
                var target = [UInt8](repeating: 0xAA, count: offset + count + 1)
                source.withUnsafeBytes { source in
                    target.withUnsafeMutableBytes { target in
                        WebSocketFrameEncoder.copy(
                            UnsafeRawBufferPointer(rebasing: source[offset...]), masked: 0x1234_5678,
                            to: UnsafeMutableRawBufferPointer(rebasing: target[offset...]))
                    }
                }
                let expected = source[offset...].enumerated().map { $1 ^ key[$0 % 4] }
                #expect(Array(target[offset..<offset + count]) == expected)
                #expect(target.last == 0xAA)
            }
        }
    }

    // MARK: Decoding

    /// Payload is delivered as it arrives, as slices of the input.
    @Test func payloadIsNotCollected() throws {
        var decoder = WebSocketFrameDecoder(allowsCompression: false, maximumMessage: .max)
        var header = ByteBuffer(bytes: ServerFrame(opcode: 2, payload: [], lengthBytes: 8, length: 1 << 40).wire)
        #expect(try decoder.next(&header) == nil)
        for number in 0..<100 {
            var buffer = ByteBuffer(repeating: 1, count: 1000)
            let input = buffer.withUnsafeReadableBytes { $0.baseAddress.map { UInt(bitPattern: $0) } }
            guard case .data(let piece) = try decoder.next(&buffer) else {
                Issue.record("expected data")
                return
            }
            #expect(piece.payload.readableBytes == 1000)
            #expect(piece.payload.withUnsafeReadableBytes { $0.baseAddress.map { UInt(bitPattern: $0) } } == input)
            #expect(piece.startsMessage == (number == 0))
            #expect(!piece.endsMessage)
        }
    }

    @Test func failureIsPermanent() {
        var decoder = WebSocketFrameDecoder(allowsCompression: false, maximumMessage: .max)
        var buffer = ByteBuffer(bytes: [0xFF, 0x00])
        let failure = #expect(throws: WebSocketFailure.self) { _ = try decoder.next(&buffer) }
        var valid = ByteBuffer(bytes: ServerFrame.text("a").wire)
        let later = #expect(throws: WebSocketFailure.self) { _ = try decoder.next(&valid) }
        #expect(failure?.reason == later?.reason && failure?.code == .protocolError)
    }

    /// Each violation is reported at the byte that shows it.
    @Test(
        arguments: [
            ([0x91], "a frame has the reserved bit RSV2 or RSV3"),
            ([0xC1], "a frame has the reserved bit RSV1, but no extension was negotiated that uses it"),
            ([0x83], "a frame has the reserved opcode 3"),
            ([0x09], "a control frame is fragmented"),
            ([0x80], "a continuation frame follows no unfinished message"),
            ([0x81, 0x80], "a frame of the server is masked"),
            ([0x88, 126], "a control frame has more than 125 bytes"),
            ([0x82, 126, 0, 125], "the length 125 of a frame is encoded in 2 bytes, which is not minimal"),
            ([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], "the length of a frame is 2^63 or more"),
            ([0x82, 126, 0x10, 0x01], "a message is larger than 4096 bytes"),
        ] as [([UInt8], String)])
    func violationIsReportedAtOnce(bytes: [UInt8], reason: String) throws {
        var decoder = WebSocketFrameDecoder(allowsCompression: false, maximumMessage: 4096)
        var start = ByteBuffer(bytes: bytes.dropLast())
        #expect(try decoder.next(&start) == nil)
        var end = ByteBuffer(bytes: bytes.suffix(1))
        let failure = #expect(throws: WebSocketFailure.self) { _ = try decoder.next(&end) }
        #expect(failure?.reason == reason)
        #expect((failure?.reason.utf8.count ?? 0) <= WebSocketFrame.maximumReason)
        #expect(failure?.error.message.hasPrefix("the WebSocket connection failed: \(reason)") == true)
    }
}
