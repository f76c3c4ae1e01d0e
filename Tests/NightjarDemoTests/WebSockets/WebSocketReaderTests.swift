import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarDemo

/// The decoding of a client's frames, without a connection. Sections without a number of an RFC are of RFC 6455.
@Suite struct WebSocketReaderTests {
    private typealias Event = WebSocketReader.Event

    private static let limit = 70_000

    /// Returns the events of all pieces, and the violation that ends them.
    private func read(_ pieces: [[UInt8]], isCompressed: Bool = false) -> ([Event], WebSocketViolation?) {
        let inflater = isCompressed ? MessageInflater(windowBits: 15, keepsContext: true) : nil
        var reader = WebSocketReader(inflater: inflater, limit: WebSocketReaderTests.limit)
        var events: [Event] = []
        do throws(WebSocketViolation) {
            for piece in pieces {
                reader.append(ByteBuffer(bytes: piece))
                while let event = try reader.next() { events.append(event) }
            }
            return (events, nil)
        } catch {
            return (events, error)
        }
    }

    private static func message(_ text: String) -> Event { .message(.text(text)) }

    private static let long = [UInt8](repeating: 0x61, count: 300)
    private static let longest = [UInt8](repeating: 0x62, count: 66_000)

    /// A conversation with all kinds of frames, and its events.
    private static let bytes: [UInt8] =
        [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        + RawWebSocket.frame(0x82, long) + RawWebSocket.frame(0x01, [0xE2])
        + RawWebSocket.frame(0x89, Array("ping".utf8)) + RawWebSocket.frame(0x00, [0x82])
        + RawWebSocket.frame(0x8A, []) + RawWebSocket.frame(0x80, [0xAC]) + RawWebSocket.frame(0x81, [])
        + RawWebSocket.frame(0x88, [0x03, 0xE8] + Array("bye".utf8))
    private static let events: [Event] = [
        message("Hello"), .message(.init(isText: false, bytes: ByteBuffer(bytes: long))),
        .ping(ByteBuffer(string: "ping")), .pong(ByteBuffer()), message("€"), message(""),
        .close(WebSocketClosure(code: 1000, reason: "bye")),
    ]

    @Test func framesAreDecodedAtEverySplit() {
        let bytes = WebSocketReaderTests.bytes
        for split in 0...bytes.count {
            let (events, violation) = read([Array(bytes[..<split]), Array(bytes[split...])])
            #expect(events == WebSocketReaderTests.events && violation == nil, "split at \(split)")
        }
        #expect(read(bytes.map { [$0] }).0 == WebSocketReaderTests.events)
    }

    @Test func lengthOf64BitsIsDecoded() {
        let (events, violation) = read([RawWebSocket.frame(0x82, WebSocketReaderTests.longest)])
        #expect(events == [.message(.init(isText: false, bytes: ByteBuffer(bytes: WebSocketReaderTests.longest)))])
        #expect(violation == nil)
    }

    typealias Row = RFCRow<[UInt8], WebSocketCloseCode>

    static let violations: [Row] =
        Row.rows("5.2", "reserved bits and opcodes are invalid", [([0x91], .protocolError), ([0xA1], .protocolError)])
        + Row.rows("5.2", "reserved opcodes are invalid", [([0x83], .protocolError), ([0x8B], .protocolError)]) + [
            Row("5.2", "RSV1 requires an extension", [0xC1], .protocolError),
            Row("5.1", "a client masks its frames", [0x81, 0x05], .protocolError),
            Row("5.2", "the length has its shortest form", [0x81, 0xFE, 0, 125], .protocolError),
            Row("5.2", "the length has its shortest form", [0x81, 0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], .protocolError),
            Row("5.2", "the length has 63 bits", [0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0], .protocolError),
            Row("10.4", "a frame is limited", [0x81, 0xFF, 0, 0, 0, 0, 0, 1, 0x11, 0x71], .tooLarge),
            Row(
                "10.4", "a message is limited",
                RawWebSocket.frame(0x02, longest) + RawWebSocket.frame(0x80, longest), .tooLarge),
            Row("5.5", "a control frame is not fragmented", [0x09], .protocolError),
            Row("5.5", "a control frame has at most 125 bytes", [0x89, 0xFE], .protocolError),
            Row("5.4", "a continuation follows a fragment", RawWebSocket.frame(0x80, []), .protocolError),
            Row(
                "5.4", "messages are not interleaved", RawWebSocket.frame(0x01, []) + RawWebSocket.frame(0x81, []),
                .protocolError),
            Row("8.1", "text is UTF-8", RawWebSocket.frame(0x81, [0xC3, 0x28]), .invalidData),
            Row("8.1", "text is complete UTF-8", RawWebSocket.frame(0x81, [0xE2, 0x82]), .invalidData),
            Row("5.5.1", "a Close frame has no code or two bytes", RawWebSocket.frame(0x88, [3]), .protocolError),
            Row("5.5.1", "a reason is UTF-8", RawWebSocket.frame(0x88, [3, 0xE8, 0xFF]), .invalidData),
        ]
        + Row.rows(
            "7.4", "some codes are not sent",
            [0, 999, 1004, 1005, 1006, 1015, 2999, 5000].map {
                (RawWebSocket.frame(0x88, [UInt8($0 >> 8), UInt8($0 & 0xFF)]), WebSocketCloseCode.protocolError)
            })

    @Test(arguments: violations)
    func violationHasACloseCode(row: Row) {
        #expect(read([row.input]).1?.code == row.expected)
        #expect(read(row.input.map { [$0] }).1?.code == row.expected)
    }

    @Test func compressedMessagesAreRead() {
        let hello: [UInt8] = [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00]
        let first = RawWebSocket.frame(0x41, Array(hello[..<3])) + RawWebSocket.frame(0x80, Array(hello[3...]))
        let plain = RawWebSocket.frame(0x81, Array("plain".utf8))
        let second = RawWebSocket.frame(0xC1, [0xF2, 0x00, 0x11, 0x00, 0x00])
        let bytes = first + plain + second
        let expected = ["Hello", "plain", "Hello"].map(WebSocketReaderTests.message)
        for split in 0...bytes.count {
            #expect(read([Array(bytes[..<split]), Array(bytes[split...])], isCompressed: true).0 == expected)
        }
        let invalid: [([UInt8], WebSocketCloseCode)] = [
            (RawWebSocket.frame(0xC1, [0xFF, 0xFF]), .invalidData), ([0xC9], .protocolError),
            (RawWebSocket.frame(0x41, []) + [0xC0], .protocolError),
        ]
        for (bytes, code) in invalid { #expect(read([bytes], isCompressed: true).1?.code == code) }
    }
}
