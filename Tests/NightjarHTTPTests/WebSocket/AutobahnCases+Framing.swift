import NightjarTestSupport

@testable import NightjarHTTP

/// Framing, Pings, reserved bits, opcodes and fragments: the families 1 to 5.
extension AutobahnCase {
    static let framing: [AutobahnCase] = [0, 125, 126, 127, 128, 65535, 65536].enumerated().flatMap {
        (index, count) -> [AutobahnCase] in
        let text = Bytes([UInt8](repeating: UInt8(ascii: "*"), count: count))
        let binary = [UInt8](repeating: 0xFE, count: count)
        return [
            AutobahnCase(
                "1.1.\(index + 1)", "text of \(count) bytes", [.text(text), .close()],
                [Expect.echo(text), Expect.closed()]),
            AutobahnCase(
                "1.2.\(index + 1)", "binary message of \(count) bytes", [.binary(Bytes(binary)), .close()],
                [Expect.echo(binary: binary), Expect.closed()]),
        ]
    }

    private static let full = Bytes([UInt8](repeating: 0xFE, count: 125))

    static let pings: [AutobahnCase] = [
        AutobahnCase("2.1", "Ping without payload", [.ping(), .close()], [Expect.pong(), Expect.closed()]),
        AutobahnCase(
            "2.2", "Ping with a text", [.ping("Hello, world!"), .close()],
            [Expect.pong("Hello, world!"), Expect.closed()]),
        AutobahnCase(
            "2.3", "Ping with bytes that are not UTF-8",
            [.ping([0x00, 0xFF, 0xFE, 0xFD, 0xFC, 0xFB, 0x00, 0xFF]), .close()],
            [Expect.pong([0x00, 0xFF, 0xFE, 0xFD, 0xFC, 0xFB, 0x00, 0xFF]), Expect.closed()]),
        AutobahnCase("2.4", "Ping with 125 bytes", [.ping(full), .close()], [Expect.pong(full), Expect.closed()]),
        AutobahnCase(
            "2.5", "Ping with 126 bytes", [.ping(full + [0xFE]), .close()], [Expect.failed(1002)]),
        AutobahnCase("2.7", "Pong without payload", [.pong(), .close()], [Expect.unsolicited(), Expect.closed()]),
        AutobahnCase(
            "2.8", "Pong with payload", [.pong("unsolicited"), .close()],
            [Expect.unsolicited("unsolicited"), Expect.closed()]),
        AutobahnCase(
            "2.9", "Pong, then Ping", [.pong("unsolicited"), .ping("ping"), .close()],
            [Expect.unsolicited("unsolicited"), Expect.pong("ping"), Expect.closed()]),
        AutobahnCase(
            "2.10", "10 Pings", (0..<10).map { .ping("payload-\($0)") } + [.close()],
            (0..<10).map { Expect.pong("payload-\($0)") } + [Expect.closed()]),
    ]

    private static let hello: ServerFrame = .text("Hello, world!")
    private static let helloEcho = Expect.echo("Hello, world!")

    static let reservedBits: [AutobahnCase] = [
        AutobahnCase(
            "3.1", "RSV3 in a text", [.text("Hello, world!", reserved: 1), .close()], [Expect.failed(1002)],
            isCompressible: false),
        AutobahnCase(
            "3.2", "RSV2 after a valid text", [hello, .text("Hello, world!", reserved: 2), .ping(), .close()],
            [helloEcho, Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "3.3", "RSV2 and RSV3 after a valid text", [hello, .text("Hello, world!", reserved: 3), .ping(), .close()],
            [helloEcho, Expect.failed(1002)], isCompressible: false),
        // With the extension, the frame is a compressed message, whose data is invalid. RFC 7692 section 7.2.2.
        AutobahnCase(
            "3.4", "RSV1 after a valid text", [hello, .text("Hello, world!", reserved: 4), .ping(), .close()],
            [helloEcho, Expect.failed(1002)], withExtension: [helloEcho, Expect.failed(1007)], isCompressible: false),
        AutobahnCase(
            "3.5", "RSV1 and RSV3 in a binary message", [.binary("Hello, world!", reserved: 5), .close()],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "3.6", "RSV1 and RSV2 in a Ping", [ServerFrame(opcode: 9, payload: [1, 2], reserved: 6), .close()],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "3.7", "all reserved bits in a Close", [ServerFrame(opcode: 8, payload: [3, 232], reserved: 7)],
            [Expect.failed(1002)], isCompressible: false),
        // Compressed control frames. RFC 7692 section 6.1.
        AutobahnCase(
            "RFC 7692 6.1, 1", "RSV1 in a Ping", [ServerFrame(opcode: 9, payload: [1, 2], reserved: 4), .close()],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "RFC 7692 6.1, 2", "RSV1 in a Close", [ServerFrame(opcode: 8, payload: [3, 232], reserved: 4)],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "RFC 7692 6.1, 3", "RSV1 in a continuation",
            [.text("Hello, ", isFinal: false), ServerFrame(opcode: 0, payload: [1], reserved: 4), .close()],
            [Expect.failed(1002)], isCompressible: false),
    ]

    static let opcodes: [AutobahnCase] =
        (0..<5).map { reservedOpcode("4.1", $0, opcode: 3 + UInt8($0)) }
        + (0..<5).map { reservedOpcode("4.2", $0, opcode: 11 + UInt8($0)) }

    private static func reservedOpcode(_ family: String, _ index: Int, opcode: UInt8) -> AutobahnCase {
        let payload: [UInt8] = index == 0 || index == 2 ? [] : Array("reserved opcode payload".utf8)
        let reserved = ServerFrame(opcode: opcode, payload: payload)
        let frames: [ServerFrame] = index < 2 ? [reserved, .close()] : [hello, reserved, .ping(), .close()]
        let expected = index < 2 ? [Expect.failed(1002)] : [helloEcho, Expect.failed(1002)]
        return AutobahnCase(
            "\(family).\(index + 1)", "opcode \(opcode)", frames, expected, isCompressible: false)
    }

    private static let fragments: [ServerFrame] = [.text("fragment1", isFinal: false), .continuation("fragment2")]
    private static let fragmentsEcho = Expect.echo("fragment1fragment2")

    static let fragmentation: [AutobahnCase] = [
        AutobahnCase(
            "5.1", "Ping in two fragments",
            [ServerFrame(opcode: 9, payload: Array("fragment1".utf8), isFinal: false), .continuation("fragment2")],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "5.2", "Pong in two fragments",
            [ServerFrame(opcode: 10, payload: Array("fragment1".utf8), isFinal: false), .continuation("fragment2")],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase("5.3", "text in two fragments", fragments + [.close()], [fragmentsEcho, Expect.closed()]),
        AutobahnCase(
            "5.6", "Ping between the fragments", [fragments[0], .ping("ping payload"), fragments[1], .close()],
            [Expect.pong("ping payload"), fragmentsEcho, Expect.closed()]),
        AutobahnCase(
            "5.9", "final continuation without a start", [.continuation("non-continuation payload"), hello, .close()],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "5.12", "continuation without a start",
            [.continuation("non-continuation payload", isFinal: false), hello, .close()], [Expect.failed(1002)],
            isCompressible: false),
        AutobahnCase(
            "5.15", "continuation after a message in two fragments",
            fragments + [.continuation("fragment3", isFinal: false), .text("fragment4"), .close()],
            [fragmentsEcho, Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "5.16", "continuation before a message in two fragments",
            [
                .continuation("fragment1", isFinal: false), .text("fragment2", isFinal: false),
                .continuation("fragment3"),
            ],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "5.17", "final continuation before a message in two fragments",
            [.continuation("fragment1"), .text("fragment2", isFinal: false), .continuation("fragment3")],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "5.18", "text frame instead of a continuation",
            [.text("fragment1", isFinal: false), .text("fragment2"), .close()], [Expect.failed(1002)],
            isCompressible: false),
        AutobahnCase(
            "5.19", "Pings between five fragments",
            [
                .text("fragment1", isFinal: false), .continuation("fragment2", isFinal: false), .ping("pongme 1!"),
                .continuation("fragment3", isFinal: false), .continuation("fragment4", isFinal: false),
                .ping("pongme 2!"), .continuation("fragment5"), .close(),
            ],
            [
                Expect.pong("pongme 1!"), Expect.pong("pongme 2!"),
                Expect.echo("fragment1fragment2fragment3fragment4fragment5"), Expect.closed(),
            ]),
    ]

    /// Headers that RFC 6455 section 5.2 forbids.
    static let headers: [AutobahnCase] = [
        AutobahnCase(
            "RFC 6455 5.1", "masked frame", [ServerFrame(opcode: 1, payload: [65], isMasked: true), .close()],
            [Expect.failed(1002)], isCompressible: false),
        AutobahnCase(
            "RFC 6455 5.2, 1", "length 125 in two bytes",
            [ServerFrame(opcode: 2, payload: full.array, lengthBytes: 2), .close()], [Expect.failed(1002)],
            isCompressible: false),
        AutobahnCase(
            "RFC 6455 5.2, 2", "length 65535 in eight bytes",
            [ServerFrame(opcode: 2, payload: [], lengthBytes: 8, length: 65535)], [Expect.failed(1002)],
            isCompressible: false),
        AutobahnCase(
            "RFC 6455 5.2, 3", "length 2^63",
            [ServerFrame(opcode: 2, payload: [], lengthBytes: 8, length: 1 << 63)], [Expect.failed(1002)],
            isCompressible: false),
        AutobahnCase(
            "RFC 6455 5.2, 4", "length 2^64 - 1",
            [ServerFrame(opcode: 2, payload: [], lengthBytes: 8, length: .max)], [Expect.failed(1002)],
            isCompressible: false),
        AutobahnCase(
            "RFC 6455 10.4", "frame of 1 GiB",
            [ServerFrame(opcode: 2, payload: [], lengthBytes: 8, length: 1 << 30)], [Expect.failed(1009)],
            isCompressible: false),
        AutobahnCase(
            "RFC 6455 10.4, 2", "fragments that exceed the limit together",
            [
                ServerFrame(opcode: 2, payload: [1], isFinal: false),
                ServerFrame(opcode: 0, payload: [], lengthBytes: 8, length: 16 << 20),
            ], [Expect.failed(1009)], isCompressible: false),
    ]
}
