import Testing

@testable import NightjarBase

@Suite struct QuotedTests {
    @Test(arguments: [
        ("plain", #""plain""#),
        ("a\r\n\tb", #""a\r\n\tb""#),
        ("a\0\u{1B}[31m\u{7F}", #""a\x0\x1b[31m\x7f""#),
        (#"say "\""#, #""say \"\\\"""#),
        ("caf\u{E9} \u{1F319}", "\"caf\u{E9} \u{1F319}\""),
        ("\u{9B}31m", #""\u{9b}31m""#),
        ("abc\u{202E}fdp.exe\u{2028}", #""abc\u{202e}fdp.exe\u{2028}""#),
    ])
    func controlCharactersAreEscaped(_ text: String, _ shown: String) {
        #expect(quoted(text) == shown)
    }

    @Test func longTextIsTruncated() {
        #expect(quoted(String(repeating: "x", count: 80)) == "\"" + String(repeating: "x", count: 80) + "\"")
        #expect(quoted(String(repeating: "x", count: 81)) == "\"" + String(repeating: "x", count: 80) + "...\"")
    }

    @Test func invalidUTF8IsReplaced() {
        let bytes: [UInt8] = [0x61, 0xFF, 0x62]
        #expect(bytes.withUnsafeBytes { quoted($0) } == "\"a\u{FFFD}b\"")
    }
}
