import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct TextEncodingTests {
    private func text(_ bytes: [UInt8], _ contentType: String?) throws -> String {
        try bytes.withUnsafeBytes { try TextEncoding.text(of: $0, contentType: contentType) }
    }

    @Test(
        arguments: [
            // UTF-8: declared, not declared, and with an invalid field.
            ("text/plain; charset=utf-8", [0x63, 0xC3, 0xA9], "c\u{E9}"), (nil, [0x63, 0xC3, 0xA9], "c\u{E9}"),
            ("nonsense", [0x63, 0xC3, 0xA9], "c\u{E9}"), ("text/plain", [], ""),
            ("text/plain; charset=\" UTF8 \"", [0xF0, 0x9F, 0x8C, 0x99], "\u{1F319}"),
            // Each maximal subpart of an invalid sequence becomes one U+FFFD, as in browsers.
            (nil, [0x61, 0xFF, 0x62], "a\u{FFFD}b"), (nil, [0xC3], "\u{FFFD}"), (nil, [0xE2, 0x82], "\u{FFFD}"),
            (nil, [0xE2, 0x82, 0x41], "\u{FFFD}A"), (nil, [0xF0, 0x9F, 0x8C], "\u{FFFD}"),
            (nil, [0xC0, 0x80], "\u{FFFD}\u{FFFD}"),
            (nil, [0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
            (nil, [0xF4, 0x90, 0x80, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}"),
            (nil, [0xE0, 0x80, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"), (nil, [0x80], "\u{FFFD}"), (nil, [0x00], "\0"),
            // A byte order mark is not part of the text, and takes precedence over Content-Type.
            (nil, [0xEF, 0xBB, 0xBF, 0x61], "a"), (nil, [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF], "\u{FEFF}"),
            (nil, [0xEF, 0xBB], "\u{FFFD}"), (nil, [0xFF, 0xFE, 0x61, 0x00], "a"),
            (nil, [0xFE, 0xFF, 0x00, 0x61], "a"),
            ("text/plain;charset=latin1", [0xEF, 0xBB, 0xBF, 0xC3, 0xA9], "\u{E9}"), (nil, [0xFF, 0xFE], ""),
            ("text/plain;charset=none", [0xEF, 0xBB, 0xBF, 0x61], "a"),
            // windows-1252 and its aliases.
            (
                "text/plain;charset=windows-1252", [0x80, 0x93, 0x41, 0x94, 0xE9, 0xFF],
                "\u{20AC}\u{201C}A\u{201D}\u{E9}\u{FF}"
            ),
            ("text/plain;charset=ISO-8859-1", [0x80, 0x81, 0x9F, 0xA0], "\u{20AC}\u{81}\u{178}\u{A0}"),
            ("text/plain;charset=US-ASCII", [0x41, 0xE9], "A\u{E9}"),
            // UTF-16.
            ("text/plain;charset=utf-16", [0x61, 0x00], "a"),
            ("text/plain;charset=utf-16le", [0x3C, 0xD8, 0x19, 0xDF], "\u{1F319}"),
            ("text/plain;charset=utf-16be", [0xD8, 0x3C, 0xDF, 0x19], "\u{1F319}"),
            ("text/plain;charset=utf-16be", [0x00], "\u{FFFD}"),
            ("text/plain;charset=utf-16be", [0xD8, 0x3C, 0x00, 0x61], "\u{FFFD}a"),
            ("text/plain;charset=utf-16be", [0xDF, 0x19], "\u{FFFD}"),
            ("text/plain;charset=utf-16be", [0x00, 0x61, 0x00], "a\u{FFFD}"),
            ("text/plain;charset=utf-16be", [0xD8, 0x3C, 0x00], "\u{FFFD}"),
        ] as [(String?, [UInt8], String)])
    func textIsDecoded(_ contentType: String?, _ bytes: [UInt8], _ expected: String) throws {
        #expect(Array(try text(bytes, contentType).unicodeScalars) == Array(expected.unicodeScalars))
        // Truncated input must not trap.
        for count in bytes.indices { _ = try? text(Array(bytes.prefix(count)), contentType) }
    }

    @Test(arguments: ["shift_jis", "gbk", "iso-8859-15", "utf-7", "utf-32", "\u{1B}[2J"])
    func unknownCharsetIsNamed(_ charset: String) {
        let error = #expect(throws: NightjarError.self) { try TextEncoding(charset: charset) }
        #expect(error?.kind == .decoding)
        #expect(
            error?.message
                == "the charset \(quoted(charset)) of the text is not supported; read the body as bytes and decode them"
        )
    }

    @Test func windows1252MatchesTheStandard() {
        let high: [Unicode.Scalar] = Array(
            ("\u{20AC}\u{81}\u{201A}\u{192}\u{201E}\u{2026}\u{2020}\u{2021}\u{2C6}\u{2030}\u{160}\u{2039}\u{152}\u{8D}\u{17D}\u{8F}"
                + "\u{90}\u{2018}\u{2019}\u{201C}\u{201D}\u{2022}\u{2013}\u{2014}\u{2DC}\u{2122}\u{161}\u{203A}\u{153}\u{9D}\u{17E}\u{178}")
                .unicodeScalars)
        let expected = (0..<256).map { 0x80..<0xA0 ~= $0 ? high[$0 - 0x80] : Unicode.Scalar(UInt8($0)) }
        let text = Array(UInt8.min...UInt8.max).withUnsafeBytes { TextEncoding.windows1252.decode($0) }
        #expect(Array(text.unicodeScalars) == expected)
    }

    @Test func randomBytesAreDecodedInEveryEncoding() {
        var random = SeededRandom(seed: 1252)
        for _ in 0..<2000 {
            let bytes = random.bytes(Int.random(in: 0..<24, using: &random))
            for encoding in [TextEncoding.utf8, .windows1252, .utf16LittleEndian, .utf16BigEndian] {
                let text = bytes.withUnsafeBytes(encoding.decode)
                #expect(text.isEmpty == bytes.isEmpty)
            }
        }
    }
}
