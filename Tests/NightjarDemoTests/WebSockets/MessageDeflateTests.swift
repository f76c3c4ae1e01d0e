import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarDemo

@Suite struct MessageDeflateTests {
    private static let limit = 1 << 20

    private static let messages: [[UInt8]] = [
        Array("Hello".utf8), Array("Hello".utf8), [], [], (0..<100_000).map(DemoContent.byte(at:)), [0],
        [UInt8](repeating: 0, count: 500_000), (0..<300).flatMap { Array("line \($0)\n".utf8) }, Array("end".utf8),
    ]

    @Test(arguments: [8, 9, 12, 15], [true, false])
    func messagesSurviveTheRoundTrip(windowBits: Int, keepsContext: Bool) throws {
        let deflater = try #require(MessageDeflater(windowBits: windowBits, keepsContext: keepsContext))
        let inflater = try #require(MessageInflater(windowBits: windowBits, keepsContext: keepsContext))
        for message in MessageDeflateTests.messages {
            let bytes = ByteBuffer(bytes: message)
            let deflated = try #require(deflater.deflate(bytes))
            #expect(inflater.inflate(deflated, limit: MessageDeflateTests.limit) == .message(bytes))
        }
    }

    @Test(arguments: [9, 15])
    func pythonInflatesMessages(windowBits: Int) throws {
        let deflater = try #require(MessageDeflater(windowBits: windowBits, keepsContext: true))
        var stream: [UInt8] = []
        for message in MessageDeflateTests.messages {
            stream += try #require(deflater.deflate(ByteBuffer(bytes: message))).readableBytesView
            stream += MessageInflater.tail
        }
        let program = """
            import sys, zlib
            sys.stdout.buffer.write(zlib.decompressobj(-\(windowBits)).decompress(sys.stdin.buffer.read()))
            """
        let result = try run("python3", ["-c", program], input: Bytes(stream))
        #expect(result.output == MessageDeflateTests.messages.flatMap { $0 })
    }

    static let examples: [RFCRow<[UInt8], String>] = [
        .init("RFC 7692 7.2.3.1", "a block", [0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
        .init("RFC 7692 7.2.3.2", "the window is shared", [0xF2, 0x00, 0x11, 0x00, 0x00], "Hello"),
        .init("RFC 7692 7.2.3.3", "a stored block", [0, 5, 0, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0], "Hello"),
        .init("RFC 7692 7.2.3.4", "a final block", [0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00], "Hello"),
        .init("RFC 7692 7.2.3.4", "the window survives a final block", [0xF2, 0x00, 0x11, 0x00, 0x00], "Hello"),
        .init(
            "RFC 7692 7.2.3.5", "two blocks",
            [0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00], "Hello"),
        .init("RFC 7692 7.2.3.6", "an empty message", [0x00], ""),
    ]

    @Test func examplesOfTheRFCAreInflatedInOrder() throws {
        let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: true))
        for row in MessageDeflateTests.examples {
            let result = inflater.inflate(ByteBuffer(bytes: row.input), limit: 5)
            #expect(result == .message(ByteBuffer(string: row.expected)), "\(row)")
        }
    }

    @Test func inflatedSizeIsLimited() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        let inflater = try #require(MessageInflater(windowBits: 15, keepsContext: true))
        let deflated = try #require(deflater.deflate(ByteBuffer(repeating: 0, count: 1 << 20)))
        #expect(deflated.readableBytes < 2000)
        #expect(inflater.inflate(deflated, limit: (1 << 20) - 1) == .tooLarge)
    }

    @Test func distanceBeyondTheWindowIsInvalid() throws {
        let deflater = try #require(MessageDeflater(windowBits: 15, keepsContext: true))
        let inflater = try #require(MessageInflater(windowBits: 9, keepsContext: true))
        let noise = (0..<10_000).map(DemoContent.byte(at:))
        let deflated = try #require(deflater.deflate(ByteBuffer(bytes: noise + noise)))
        #expect(inflater.inflate(deflated, limit: 1 << 20) == .invalid)
    }

    // MARK: Negotiation

    static let offers: [RFCRow<String, String?>] = [
        .init("RFC 7692 7.1", "no parameters", "permessage-deflate", "permessage-deflate"),
        .init("RFC 7692 7.1", "other extensions are skipped", "x-a; b=c, permessage-deflate", "permessage-deflate"),
        .init("RFC 7692 7.1", "an unknown parameter declines an offer", "permessage-deflate; a", nil),
        .init(
            "RFC 7692 7.1", "the next offer is accepted", "permessage-deflate; a=1, permessage-deflate",
            "permessage-deflate"),
        .init(
            "RFC 7692 7.1", "a repeated parameter declines an offer",
            "permessage-deflate; client_max_window_bits; client_max_window_bits", nil),
        .init(
            "RFC 7692 7.1.1.1", "server_no_context_takeover", "permessage-deflate; server_no_context_takeover",
            "permessage-deflate; server_no_context_takeover"),
        .init("RFC 7692 7.1.1.1", "a flag has no value", "permessage-deflate; server_no_context_takeover=1", nil),
        .init(
            "RFC 7692 7.1.1.2", "client_no_context_takeover", "permessage-deflate;client_no_context_takeover",
            "permessage-deflate; client_no_context_takeover"),
        .init(
            "RFC 7692 7.1.2.1", "server_max_window_bits", "permessage-deflate; server_max_window_bits=10",
            "permessage-deflate; server_max_window_bits=10"),
        .init("RFC 7692 7.1.2.1", "a value is required", "permessage-deflate; server_max_window_bits", nil),
        .init("RFC 7692 7.1.2.1", "a value is 8 to 15", "permessage-deflate; server_max_window_bits=16", nil),
        .init("RFC 7692 7.1.2.1", "a value has no leading zeros", "permessage-deflate; server_max_window_bits=09", nil),
        .init(
            "RFC 7692 7.1.2.2", "client_max_window_bits needs no value", "permessage-deflate; client_max_window_bits",
            "permessage-deflate"),
        .init(
            "RFC 7692 7.1.2.2", "a quoted value", "permessage-deflate; client_max_window_bits=\"9\"",
            "permessage-deflate; client_max_window_bits=9"),
    ]

    @Test(arguments: offers)
    func offerIsNegotiated(row: RFCRow<String, String?>) {
        #expect(DeflateNegotiation.accept(extensions(row.input), .init())?.field == row.expected)
    }

    @Test func preferencesReduceTheWindows() throws {
        let preferences = DeflateNegotiation.Preferences(serverWindow: 9, clientWindow: 10, clientResets: true)
        let offer = "permessage-deflate; client_max_window_bits; server_max_window_bits=12"
        let accepted = try #require(DeflateNegotiation.accept(extensions(offer), preferences))
        #expect(accepted.serverWindow == 9 && accepted.clientWindow == 10)
        #expect(accepted.clientResets && !accepted.serverResets)
        // A server must not limit the client's window if the client does not offer this.
        let other = try #require(DeflateNegotiation.accept(extensions("permessage-deflate"), preferences))
        #expect(other.clientWindow == 15)
        #expect(other.field == "permessage-deflate; client_no_context_takeover; server_max_window_bits=9")
    }

    private func extensions(_ field: String) -> [WebSocketExtension] {
        field.split(separator: ",").map { WebSocketExtension($0) }
    }
}
