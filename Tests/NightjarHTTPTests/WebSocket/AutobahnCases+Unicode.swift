import NightjarTestSupport

@testable import NightjarHTTP

/// UTF-8: the family 6.
extension AutobahnCase {
    private static let kosme: [UInt8] = [0xCE, 0xBA, 0xE1, 0xBD, 0xB9, 0xCF, 0x83, 0xCE, 0xBC, 0xCE, 0xB5]
    private static let hello = Bytes(stringLiteral: "Hello-\u{B5}@\u{DF}\u{F6}\u{E4}\u{FC}\u{E0}\u{E1}-UTF-8!!")
    private static let edited = Array("edited".utf8)

    static let unicode: [AutobahnCase] = unicodeFragments + unicodeSequences

    private static let unicodeFragments: [AutobahnCase] = [
        AutobahnCase("6.1.1", "empty text", [.text(""), .close()], [Expect.echo(""), Expect.closed()]),
        AutobahnCase(
            "6.1.2", "three empty fragments",
            [.text("", isFinal: false), .continuation("", isFinal: false), .continuation(""), .close()],
            [Expect.echo(""), Expect.closed()]),
        AutobahnCase(
            "6.1.3", "middle fragment that is not empty",
            [.text("", isFinal: false), .continuation("middle", isFinal: false), .continuation(""), .close()],
            [Expect.echo("middle"), Expect.closed()]),
        AutobahnCase("6.2.1", "valid text", [.text(hello), .close()], [Expect.echo(hello), Expect.closed()]),
        AutobahnCase(
            "6.2.2", "valid text in two fragments", ServerFrame.fragments(of: 1, hello.array, size: 8) + [.close()],
            [Expect.echo(hello), Expect.closed()]),
        AutobahnCase(
            "6.2.3", "valid text in fragments of one byte",
            ServerFrame.fragments(of: 1, hello.array, size: 1) + [.close()], [Expect.echo(hello), Expect.closed()]),
        AutobahnCase(
            "6.2.4", "code points split between fragments of one byte",
            ServerFrame.fragments(of: 1, kosme, size: 1) + [.close()], [Expect.echo(Bytes(kosme)), Expect.closed()]),
        AutobahnCase(
            "6.3.1", "invalid text", [.text(Bytes(kosme + [0xED, 0xA0, 0x80] + edited)), .close()],
            [Expect.failed(1007)]),
        AutobahnCase(
            "6.3.2", "invalid text in fragments of one byte",
            ServerFrame.fragments(of: 1, kosme + [0xED, 0xA0, 0x80] + edited, size: 1) + [.close()],
            [Expect.failed(1007)]),
        AutobahnCase(
            "6.4.1", "invalid text in a later fragment",
            [
                .text(Bytes(kosme), isFinal: false), .continuation([0xF4, 0x90, 0x80, 0x80], isFinal: false),
                .continuation(Bytes(edited)), .close(),
            ], [Expect.failed(1007)]),
        AutobahnCase(
            "6.4.2", "text that becomes invalid in the middle of a code point",
            [
                .text(Bytes(kosme + [0xF4]), isFinal: false), .continuation([0x90], isFinal: false),
                .continuation(Bytes([0x80, 0x80] + edited)), .close(),
            ], [Expect.failed(1007)]),
        AutobahnCase(
            "6.4.3", "invalid text in one frame", [.text(Bytes(kosme + [0xF4, 0x90, 0x80, 0x80] + edited)), .close()],
            [Expect.failed(1007)]),
    ]

    /// Each is one text message.
    private static let unicodeSequences: [AutobahnCase] = sequences.map { id, text, isValid in
        AutobahnCase(
            id, "\(isValid ? "valid" : "invalid") text \(text.map { String($0, radix: 16) }.joined())",
            [.text(Bytes(text)), .close()],
            isValid ? [Expect.echo(Bytes(text)), Expect.closed()] : [Expect.failed(1007)])
    }

    private static let sequences: [(String, [UInt8], Bool)] = valid + prefixes + invalid + lonely + nonCharacters

    private static let prefixes: [(String, [UInt8], Bool)] = (1...kosme.count).map { count in
        ("6.6.\(count)", Array(kosme[..<count]), [2, 5, 7, 9, 11].contains(count))
    }

    private static let valid: [(String, [UInt8], Bool)] = [
        ("6.7.1", [0x00], true),
        ("6.7.2", [0xC2, 0x80], true),
        ("6.7.3", [0xE0, 0xA0, 0x80], true),
        ("6.7.4", [0xF0, 0x90, 0x80, 0x80], true),
        ("6.9.1", [0x7F], true),
        ("6.9.2", [0xDF, 0xBF], true),
        ("6.9.3", [0xEF, 0xBF, 0xBF], true),
        ("6.9.4", [0xF4, 0x8F, 0xBF, 0xBF], true),
        ("6.11.1", [0xED, 0x9F, 0xBF], true),
        ("6.11.2", [0xEE, 0x80, 0x80], true),
        ("6.11.3", [0xEF, 0xBF, 0xBD], true),
        ("6.11.4", [0xF4, 0x8F, 0xBF, 0xBF], true),
        ("6.23.1", [0xEF, 0xBF, 0xB9], true),
        ("6.23.2", [0xEF, 0xBF, 0xBA], true),
        ("6.23.3", [0xEF, 0xBF, 0xBB], true),
        ("6.23.4", [0xEF, 0xBF, 0xBC], true),
        ("6.23.5", [0xEF, 0xBF, 0xBD], true),
        ("6.23.6", [0xEF, 0xBF, 0xBE], true),
        ("6.23.7", [0xEF, 0xBF, 0xBF], true),
    ]

    private static let invalid: [(String, [UInt8], Bool)] = [
        ("6.8.1", [0xF8, 0x88, 0x80, 0x80, 0x80], false),
        ("6.8.2", [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80], false),
        ("6.10.1", [0xF7, 0xBF, 0xBF, 0xBF], false),
        ("6.10.2", [0xFB, 0xBF, 0xBF, 0xBF, 0xBF], false),
        ("6.10.3", [0xFD, 0xBF, 0xBF, 0xBF, 0xBF, 0xBF], false),
        ("6.11.5", [0xF4, 0x90, 0x80, 0x80], false),
        ("6.12.1", [0x80], false),
        ("6.12.2", [0xBF], false),
        ("6.12.3", [0x80, 0xBF], false),
        ("6.12.4", [0x80, 0xBF, 0x80], false),
        ("6.12.5", [0x80, 0xBF, 0x80, 0xBF], false),
        ("6.12.6", [0x80, 0xBF, 0x80, 0xBF, 0x80], false),
        ("6.12.7", [0x80, 0xBF, 0x80, 0xBF, 0x80, 0xBF], false),
        ("6.14.1", [0xC0], false),
        ("6.14.2", [0xE0, 0x80], false),
        ("6.14.3", [0xF0, 0x80, 0x80], false),
        ("6.14.4", [0xF8, 0x80, 0x80, 0x80], false),
        ("6.14.5", [0xFC, 0x80, 0x80, 0x80, 0x80], false),
        ("6.14.6", [0xDF], false),
        ("6.14.7", [0xEF, 0xBF], false),
        ("6.14.8", [0xF7, 0xBF, 0xBF], false),
        ("6.14.9", [0xFB, 0xBF, 0xBF, 0xBF], false),
        ("6.14.10", [0xFD, 0xBF, 0xBF, 0xBF, 0xBF], false),
        (
            "6.15.1",
            [
                0xC0, 0xE0, 0x80, 0xF0, 0x80, 0x80, 0xF8, 0x80, 0x80, 0x80, 0xFC, 0x80, 0x80, 0x80, 0x80, 0xDF, 0xEF,
                0xBF, 0xF7, 0xBF, 0xBF, 0xFB, 0xBF, 0xBF, 0xBF, 0xFD, 0xBF, 0xBF, 0xBF, 0xBF,
            ], false
        ),
        ("6.16.1", [0xFE], false),
        ("6.16.2", [0xFF], false),
        ("6.16.3", [0xFE, 0xFE, 0xFF, 0xFF], false),
        ("6.17.1", [0xC0, 0xAF], false),
        ("6.17.2", [0xE0, 0x80, 0xAF], false),
        ("6.17.3", [0xF0, 0x80, 0x80, 0xAF], false),
        ("6.17.4", [0xF8, 0x80, 0x80, 0x80, 0xAF], false),
        ("6.17.5", [0xFC, 0x80, 0x80, 0x80, 0x80, 0xAF], false),
        ("6.18.1", [0xC1, 0xBF], false),
        ("6.18.2", [0xE0, 0x9F, 0xBF], false),
        ("6.18.3", [0xF0, 0x8F, 0xBF, 0xBF], false),
        ("6.18.4", [0xF8, 0x87, 0xBF, 0xBF, 0xBF], false),
        ("6.18.5", [0xFC, 0x83, 0xBF, 0xBF, 0xBF, 0xBF], false),
        ("6.19.1", [0xC0, 0x80], false),
        ("6.19.2", [0xE0, 0x80, 0x80], false),
        ("6.19.3", [0xF0, 0x80, 0x80, 0x80], false),
        ("6.19.4", [0xF8, 0x80, 0x80, 0x80, 0x80], false),
        ("6.19.5", [0xFC, 0x80, 0x80, 0x80, 0x80, 0x80], false),
        ("6.20.1", [0xED, 0xA0, 0x80], false),
        ("6.20.2", [0xED, 0xAD, 0xBF], false),
        ("6.20.3", [0xED, 0xAE, 0x80], false),
        ("6.20.4", [0xED, 0xAF, 0xBF], false),
        ("6.20.5", [0xED, 0xB0, 0x80], false),
        ("6.20.6", [0xED, 0xBE, 0x80], false),
        ("6.20.7", [0xED, 0xBF, 0xBF], false),
        ("6.21.1", [0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80], false),
        ("6.21.2", [0xED, 0xA0, 0x80, 0xED, 0xBF, 0xBF], false),
        ("6.21.3", [0xED, 0xAD, 0xBF, 0xED, 0xB0, 0x80], false),
        ("6.21.4", [0xED, 0xAD, 0xBF, 0xED, 0xBF, 0xBF], false),
        ("6.21.5", [0xED, 0xAE, 0x80, 0xED, 0xB0, 0x80], false),
        ("6.21.6", [0xED, 0xAE, 0x80, 0xED, 0xBF, 0xBF], false),
        ("6.21.7", [0xED, 0xAF, 0xBF, 0xED, 0xB0, 0x80], false),
        ("6.21.8", [0xED, 0xAF, 0xBF, 0xED, 0xBF, 0xBF], false),
    ]

    /// Continuation bytes without a start, and starts that are followed by a space.
    private static let lonely: [(String, [UInt8], Bool)] = [
        ("6.12.8", Array(0x80...0xBF), false), ("6.13.1", spaced(0xC0...0xDF), false),
        ("6.13.2", spaced(0xE0...0xEF), false), ("6.13.3", spaced(0xF0...0xF7), false),
        ("6.13.4", spaced(0xF8...0xFB), false), ("6.13.5", spaced(0xFC...0xFD), false),
    ]

    private static func spaced(_ bytes: ClosedRange<UInt8>) -> [UInt8] { bytes.flatMap { [$0, 0x20] } }

    /// U+FFFE, U+FFFF, U+1FFFE, ..., U+10FFFF.
    private static let nonCharacters: [(String, [UInt8], Bool)] = (0..<34).map { index in
        let plane = UInt32(index / 2)
        let scalar = Unicode.Scalar(plane << 16 | 0xFFFE | UInt32(index % 2))
        return ("6.22.\(index + 1)", scalar.map { Array(String($0).utf8) } ?? [], true)
    }
}
