import NIOCore
import NightjarJSON
import NightjarTestSupport
import Testing

/// JSON texts. Each row names its section of RFC 8259.
@Suite struct RFC8259Tests {
    enum Expected: Sendable, Equatable {
        /// The text that the writer produces for the value.
        case text(String)
        /// The message ends with this text.
        case invalid(String)
    }

    typealias Row = RFCRow<Bytes, Expected>

    static let rows: [Row] = [structure, literals, objects, arrays, numbers, strings, escapes, encodings].joined()
        .flatMap { $0 }

    @Test(arguments: rows)
    func rowHolds(_ row: Row) { #expect(outcome(of: row) == row.expected) }

    private func outcome(of row: Row) -> Expected {
        do throws(NightjarError) {
            let value = try row.input.array.withUnsafeBytes { bytes in
                Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
            }.get()
            return .text(String(buffer: try value.encoded()))
        } catch {
            guard error.kind == .decoding, error.message.hasPrefix("not JSON: ") else { return .invalid("\(error)") }
            // The row contains only the end of the message.
            if case .invalid(let reason) = row.expected, error.message.hasSuffix(reason) { return row.expected }
            return .invalid(error.message)
        }
    }

    // MARK: Rows

    private static func valid(_ section: String, _ claim: String, _ cases: [(Bytes, String)]) -> [Row] {
        Row.rows(section, claim, cases.map { ($0.0, .text($0.1)) })
    }

    /// Texts that the writer reproduces unchanged.
    private static func same(_ section: String, _ claim: String, _ texts: [String]) -> [Row] {
        texts.map { Row(section, claim, "\($0)", .text($0)) }
    }

    private static func invalid(_ section: String, _ claim: String, _ cases: [(Bytes, String)]) -> [Row] {
        Row.rows(section, claim, cases.map { ($0.0, .invalid($0.1)) })
    }

    private static func invalid(_ section: String, _ claim: String, _ texts: [Bytes]) -> [Row] {
        texts.map { Row(section, claim, $0, .invalid("")) }
    }

    static let structure: [[Row]] = [
        valid(
            "2", "white space is allowed around tokens",
            [(" \t\r\n1\n\r\t ", "1"), ("[ 1 ,\n2\t]", "[1,2]"), ("{ \"a\" : 1 }", #"{"a":1}"#)]),
        invalid("2", "no other character is white space", ["\u{0C}1", "\u{0B}1", "\u{A0}1", "1\0", "[1,\u{2028}2]"]),
        invalid(
            "2", "a text is one value",
            [
                ("", "expected a value but the text ends at line 1 column 1"),
                ("1 2", "unexpected data after the value at line 1 column 3"),
                ("[]]", "unexpected data after the value at line 1 column 3"),
                ("{}{", "unexpected data after the value at line 1 column 3"),
            ]),
        invalid("2", "comments are not JSON", ["/**/1", "1//", "#\n1", "[1,/* */2]"]),
    ]

    static let literals: [[Row]] = [
        same("3", "a text may be any value", ["null", "true", "false", "0", "\"\"", "[]", "{}"]),
        invalid(
            "3", "the literal names are lower-case and complete",
            ["True", "NULL", "tru", "nulll", "none", "undefined", "'a'", "a"]),
        invalid("3", "a value is expected", [("nul", "expected a value at line 1 column 1")]),
    ]

    static let objects: [[Row]] = [
        same("4", "names and values are in order", [#"{"b":1,"a":{"b":[null]},"c":2}"#, #"{"":{"\n":""}}"#]),
        same("4", "members with the same name are preserved", [#"{"b":1,"a":1,"a":2}"#]),
        invalid(
            "4", "members are separated by single commas",
            [
                ("{\n  \"a\": 1\n  \"b\": 2}", "expected ',' or '}' at line 3 column 3"),
                ("{\"a\":1,}", "expected a name in quotes at line 1 column 8"), ("{,\"a\":1}", ""),
                ("{\"a\":1,,\"b\":2}", ""),
            ]),
        invalid(
            "4", "a member is a string, a colon and a value",
            ["{a:1}", "{'a':1}", "{1:2}", "{\"a\" 1}", "{\"a\":}", "{\"a\"}", "{\"a\":1", "{", "{\"a\"=1}", "}"]),
    ]

    static let arrays: [[Row]] = [
        same("5", "elements are in order", [#"[1,[2,[]],{}]"#, "[null,true,\"\"]"]),
        invalid("5", "elements are separated by single commas", [("[1,]", "expected a value at line 1 column 4")]),
        invalid("5", "elements are separated by single commas", ["[,1]", "[1,,2]", "[1 2]", "[1", "[", "]", "[1}"]),
    ]

    static let numbers: [[Row]] = [
        same(
            "6", "numbers of 64 bits and doubles are exact",
            [
                "0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1.5", "-0.0",
                "1e+30", "5e-324", "1.7976931348623157e+308", "0.1", "100000.0",
            ]),
        valid("6", "an exponent may have a sign", [("1E2", "100.0"), ("1e+2", "100.0"), ("100e-2", "1.0")]),
        invalid(
            "6", "leading zeros are not allowed",
            [("[01]", "a number must not have leading zeros at line 1 column 3")]),
        invalid(
            "6", "a number has digits before and after the point and in the exponent",
            [
                "+1", ".5", "1.", "1.e1", "-", "--1", "-.5", "1e", "1e+", "1e1.5", "0x10", "1_000", "1 000", "-01",
                "1a",
            ]),
        invalid("6", "infinity and NaN are not numbers", ["NaN", "Infinity", "-Infinity", "nan"]),
        invalid(
            "6", "a number beyond the range of a double is rejected",
            [("1e999", "a number is out of the range of a double at line 1 column 1")]),
    ]

    static let strings: [[Row]] = [
        same(
            "7", "characters other than quotes, backslashes and controls stand for themselves",
            ["\"caf\u{E9} \u{1F319} /\""]),
        invalid("7", "control characters are escaped", ["\"a\nb\"", "\"\t\"", "\"\0\"", "\"\u{1F}\""]),
        invalid("7", "a string ends with a quote", [("[\"a", "the text ends inside a string at line 1 column 4")]),
        invalid("7", "a string ends with a quote", ["\"", "\"a", "\"\\\"", "\"\\"]),
    ]

    static let escapes: [[Row]] = [
        same("7", "control characters are written as escapes", [#""\"\\\n\r\t\u0000\u0008\u000c\u001f\u007f""#]),
        valid(
            "7", "escapes stand for characters",
            [
                (#""\/""#, "\"/\""), (#""\u0041\u00e9\u00E9""#, "\"A\u{E9}\u{E9}\""), (#""\b\f""#, #""\u0008\u000c""#),
                (#""\ud83d\ude00\uD83D\uDE00""#, "\"\u{1F600}\u{1F600}\""),
            ]),
        invalid(
            "7", "unknown and short escapes are rejected",
            [#""\x41""#, #""\u12""#, #""\u12G4""#, #""\u""#, #""\'""#, #""\U0041""#, #""\0""#]),
        invalid(
            "8.2", "unpaired surrogates are rejected",
            [(#""\ud800""#, "unpaired surrogate in a string at line 1 column 2")]),
        invalid("8.2", "unpaired surrogates are rejected", [#""\udc00""#, #""\ud800A""#, #""\ud800\u0041""#]),
    ]

    static let encodings: [[Row]] = [
        valid("8.1", "a byte order mark is ignored", [("\u{FEFF}1", "1")]),
        invalid(
            "8.1", "a text is valid UTF-8",
            [
                [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0xAF, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
                [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0xFF, 0xFE, 0x31, 0x00], [0x31, 0xFF],
            ]),
    ]
}
