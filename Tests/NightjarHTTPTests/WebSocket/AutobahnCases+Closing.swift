import NightjarTestSupport

@testable import NightjarHTTP

/// The closing handshake, large messages and many messages: the families 7, 9, 10, 12 and 13. The families
/// from 9 have smaller and fewer messages than the testsuite.
extension AutobahnCase {
    private static let hello: ServerFrame = .text("Hello World!")
    private static let helloEcho = Expect.echo("Hello World!")

    static let closing: [AutobahnCase] =
        [
            AutobahnCase("7.1.1", "text, then Close", [hello, .close()], [helloEcho, Expect.closed()]),
            AutobahnCase("7.1.2", "two Close frames", [.close(), .close()], [Expect.closed()]),
            AutobahnCase("7.1.3", "Ping after Close", [.close(), .ping()], [Expect.closed()]),
            AutobahnCase("7.1.4", "text after Close", [.close(), hello], [Expect.closed()]),
            AutobahnCase(
                "7.1.5", "Close between fragments",
                [.text("fragment1", isFinal: false), .close(), .continuation("fragment2")], [Expect.closed()],
                isCompressible: false),
            AutobahnCase(
                "7.1.6", "text of 256 KiB, then Close and Ping", [.text(Bytes(long)), .close(), .ping()],
                [Expect.echo(Bytes(long)), Expect.closed()]),
            AutobahnCase("7.3.1", "Close without payload", [.close(nil)], [["closed 1005 clean", "sent close"]]),
            AutobahnCase("7.3.2", "Close with one byte", [.close(nil, "a")], [Expect.failed(1002)]),
            AutobahnCase("7.3.3", "Close with a code", [.close(1000)], [Expect.closed()]),
            AutobahnCase("7.3.4", "Close with a reason", [.close(1000, "Hello World!")], [Expect.closed()]),
            AutobahnCase("7.3.5", "Close with a reason of 123 bytes", [.close(1000, reason(123))], [Expect.closed()]),
            AutobahnCase(
                "7.3.6", "Close with a reason of 124 bytes", [.close(1000, reason(124))], [Expect.failed(1002)]),
            AutobahnCase(
                "7.5.1", "Close with a reason that is not UTF-8",
                [.close(1000, [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xED, 0xA0, 0x80, 0x65])], [Expect.failed(1007)]),
        ]
        + [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999, 1012, 1013, 1014].enumerated()
        .map { AutobahnCase("7.7.\($0 + 1)", "valid code \($1)", [.close($1)], [Expect.closed($1)]) }
        + [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999].enumerated()
        .map { AutobahnCase("7.9.\($0 + 1)", "invalid code \($1)", [.close($1)], [Expect.failed(1002)]) }
        + [5000, 65535].enumerated()
        .map { AutobahnCase("7.13.\($0 + 1)", "invalid code \($1)", [.close($1)], [Expect.failed(1002)]) }

    private static let long = [UInt8](repeating: UInt8(ascii: "B"), count: 256 * 1024)

    private static func reason(_ count: Int) -> Bytes { Bytes([UInt8](repeating: UInt8(ascii: "*"), count: count)) }

    // MARK: Limits and performance

    static let large: [AutobahnCase] = wholeMessages + fragmentedMessages + manyMessages + [automaticFragments]

    private static let wholeMessages: [AutobahnCase] = [1, 4, 16, 64, 128, 256].enumerated().flatMap {
        (index, size) -> [AutobahnCase] in
        let bytes = [UInt8](repeating: UInt8(ascii: "*"), count: size << 10)
        return [
            AutobahnCase(
                "9.1.\(index + 1)", "text of \(size) KiB", [.text(Bytes(bytes)), .close()],
                [Expect.echo(Bytes(bytes)), Expect.closed()]),
            AutobahnCase(
                "9.2.\(index + 1)", "binary message of \(size) KiB", [.binary(Bytes(bytes)), .close()],
                [Expect.echo(binary: bytes), Expect.closed()]),
        ]
    }

    /// The chops of 9.5 and 9.6 are covered by the splits of every case.
    private static let fragmentedMessages: [AutobahnCase] = (0..<9).flatMap { index -> [AutobahnCase] in
        let bytes = Array("Hello, world! ".utf8.cycled(16384))
        let size = 1 << (index * 2)
        return [
            AutobahnCase(
                "9.3.\(index + 1)", "text of 16 KiB in fragments of \(size) bytes",
                ServerFrame.fragments(of: 1, bytes, size: size) + [.close()],
                [Expect.echo(Bytes(bytes)), Expect.closed()]),
            AutobahnCase(
                "9.4.\(index + 1)", "binary message of 16 KiB in fragments of \(size) bytes",
                ServerFrame.fragments(of: 2, bytes, size: size) + [.close()],
                [Expect.echo(binary: bytes), Expect.closed()]),
        ]
    }

    private static let manyMessages: [AutobahnCase] = [0, 16, 64, 256, 1024, 4096].enumerated().flatMap {
        (index, size) -> [AutobahnCase] in
        let bytes = Bytes([UInt8](repeating: UInt8(ascii: "*"), count: size))
        return [
            AutobahnCase(
                "9.7.\(index + 1)", "10 texts of \(size) bytes",
                [ServerFrame](repeating: .text(bytes), count: 10) + [.close()],
                [[String]](repeating: Expect.echo(bytes), count: 10) + [Expect.closed()]),
            AutobahnCase(
                "9.8.\(index + 1)", "10 binary messages of \(size) bytes",
                [ServerFrame](repeating: .binary(bytes), count: 10) + [.close()],
                [[String]](repeating: Expect.echo(binary: bytes.array), count: 10) + [Expect.closed()]),
        ]
    }

    private static let automaticFragments: AutobahnCase = {
        let bytes = [UInt8](repeating: UInt8(ascii: "*"), count: 65536)
        return AutobahnCase(
            "10.1.1", "text of 64 KiB in fragments of 1300 bytes",
            ServerFrame.fragments(of: 1, bytes, size: 1300) + [.close()], [Expect.echo(Bytes(bytes)), Expect.closed()])
    }()

    // MARK: Compression

    /// The sizes of the messages and of their fragments.
    private static let sizes: [(Int, Int?)] = [
        (16, nil), (32, nil), (128, nil), (512, nil), (1024, nil), (2048, nil), (4096, nil), (8192, nil), (16384, nil),
        (20000, nil), (1024, 32), (2048, 32), (4096, 32), (8192, 32), (16384, 32), (16384, 128), (16384, 512),
        (16384, 4096),
    ]

    /// Texts that compress well, bytes that do not compress, and others.
    static let compression: [AutobahnCase] = (1...5).flatMap { family in
        sizes.enumerated().map { index, size in
            messages("12.\(family).\(index + 1)", family, size: size.0, fragment: size.1)
        }
    }

    /// The messages of the family 13, which differs in the negotiated parameters. See ``AutobahnTests``.
    static let parameters: [AutobahnCase] = sizes.enumerated().map { index, size in
        messages("13.\(index + 1)", 1, size: size.0, fragment: size.1)
    }

    private static func messages(_ id: String, _ family: Int, size: Int, fragment: Int?) -> AutobahnCase {
        var random = SeededRandom(seed: UInt64(family))
        var frames: [ServerFrame] = []
        var expected: [[String]] = []
        for number in 0..<5 {
            let payload: [UInt8]
            switch family {
            case 1:
                payload = Array("{\"id\": \(number), \"name\": \"swallow\", \"tags\": [\"bird\"]}, ".utf8.cycled(size))
            case 2: payload = random.bytes(size)
            case 3:
                payload = Array(
                    "Voil\u{E0} une phrase, \u{3BA}\u{1F79}\u{3C3}\u{3BC}\u{3B5}. ".unicodeScalars.cycled(size / 2)
                        .map(Character.init).reduce(into: "") { $0.append($1) }.utf8)
            case 4: payload = [UInt8](repeating: 0, count: size)
            default: payload = Array((0..<size / 8 + 1).map { "\($0 &* 7919 % 1000), " }.joined().utf8)
            }
            let isText = family != 2 && family != 4
            frames += ServerFrame.fragments(of: isText ? 1 : 2, payload, size: fragment ?? max(payload.count, 1))
            expected.append(isText ? Expect.echo(Bytes(payload)) : Expect.echo(binary: payload))
        }
        return AutobahnCase(
            id, "messages of \(size) bytes\(fragment.map { " in fragments of \($0)" } ?? "")", frames + [.close()],
            expected + [Expect.closed()])
    }
}

extension Collection {
    /// Returns the first `count` elements of the collection repeated without end.
    fileprivate func cycled(_ count: Int) -> [Element] {
        let all = Array(self)
        return (0..<count).map { all[$0 % all.count] }
    }
}
