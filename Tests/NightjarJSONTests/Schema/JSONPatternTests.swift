import Testing

@testable import NightjarJSON

@Suite struct JSONPatternTests {
    /// Patterns with the semantics of ECMA-262 and the flag u. PCRE2 differs by default.
    @Test(arguments: [
        ("b", "abc", true), ("^b", "abc", false), ("", "", true),
        // `$` matches only at the end of the text, and `^` only at its start.
        ("a$", "a\n", false), ("^b", "a\nb", false),
        // Character classes are ASCII.
        (#"^\d$"#, "7", true), (#"^\d$"#, "\u{663}", false), (#"^\w$"#, "\u{E9}", false), (#"^\W$"#, "\u{E9}", true),
        (#"^\p{L}+$"#, "\u{E9}a", true), (#"^\p{Lu}$"#, "\u{C4}", true),
        // `.` matches one character of any length in UTF-8, but no line terminator.
        ("^.$", "\u{1F319}", true), ("^.$", "\n", false), ("^.$", "\r", false),
        (#"^\u0041$"#, "A", true), (#"^\u{1F319}$"#, "\u{1F319}", true), (#"^\x41$"#, "A", true),
        ("[]", "a", false), ("^[^]$", "\n", true), (#"^\/a\-b$"#, "/a-b", true),
        (#"^(?<year>\d{4})-\k<year>$"#, "2024-2024", true), (#"^(?:(a)|b)\1$"#, "b", true),
        (#"^(?!x).*$"#, "abc", true), (#"^(?!x).*$"#, "xbc", false), (#"a\0b"#, "a\0b", true),
    ])
    func patternsMatch(_ pattern: String, _ text: String, _ isFound: Bool) throws {
        var budget = 10_000
        let outcome = try JSONPattern(pattern).find(in: text, JSONPattern.Scratch(), budget: &budget)
        #expect(outcome == (isFound ? .found : .missing))
    }

    @Test(arguments: ["(", "[", #"\"#, "a**", "(?<=a+)b", "x{2,1}", #"\C"#])
    func invalidPatternsAreRejected(_ pattern: String) {
        let error = #expect(throws: NightjarError.self) { try JSONPattern(pattern) }
        #expect(error?.kind == .invalidArgument)
        #expect(error?.message.hasPrefix("the pattern \(quoted(pattern)) is invalid at offset ") == true)
    }

    @Test func tooLongOrNestedPatternsAreRejected() {
        #expect(throws: NightjarError.self) { try JSONPattern(String(repeating: "a", count: 20_000)) }
        let nested = String(repeating: "(", count: 5000) + String(repeating: ")", count: 5000)
        #expect(throws: NightjarError.self) { try JSONPattern(nested) }
        #expect(throws: NightjarError.self) { try JSONPattern("(((a{1,1000}){1,1000}){1,1000}){1,1000}") }
    }

    @Test func longTextsUseMoreOfTheBudget() throws {
        let pattern = try JSONPattern("a+b")
        var budget = 1_000_000
        // The search takes quadratic time, because each letter is tried as the start of a match.
        let outcome = pattern.find(in: String(repeating: "a", count: 200_000), JSONPattern.Scratch(), budget: &budget)
        #expect(outcome == .exhausted || outcome == .missing)
        #expect(budget < 1_000_000)
    }

    @Test(arguments: [
        "^[a-z]{3}$", #"^\d{4}-\d{2}$"#, "^(foo|bar)+$", "^[^/]+$", "^arn:aws:[a-z0-9-]*:x?$", #"^\+[1-9]\d{1,14}$"#,
        "^(?:[A-Z]{2}|none)$", #"^#[0-9a-fA-F]{6}$"#, "^.{5,}$", #"^\w+@\w+\.com$"#, "^[^a-zA-Z0]$", "a|b",
    ])
    func generatedTextMatchesThePattern(_ pattern: String) throws {
        var words = JSONPatternExample(pattern, extra: 0)
        let made = words.text()
        let text = try #require(made)
        var budget = 10_000
        #expect(try JSONPattern(pattern).find(in: text, JSONPattern.Scratch(), budget: &budget) == .found, "\(text)")
    }
}
