import NightjarHTTP
import Testing

@Suite struct JSONValueTests {
    @Test func everySortOfValueIsKept() throws {
        let value = try JSONValue(
            parsing: #" {"n":null,"t":true,"f":false,"s":"\u00e9\n\ud83d\ude00","a":[1,-2,[]],"o":{},"x":1.5e3} "#)
        #expect(value["n"] == .null)
        #expect(value["t"]?.bool == true)
        #expect(value["f"]?.bool == false)
        #expect(value["s"]?.string == "é\n😀")
        #expect(value["a"] == .array([.integer(1), .integer(-2), .array([])]))
        #expect(value["a"]?[1] == .integer(-2))
        #expect(value["a"]?[3] == nil)
        #expect(value["o"] == .object([]))
        #expect(value["x"] == .number(1500))
        #expect(value["absent"] == nil)
    }

    @Test func integersKeepSixtyFourBits() throws {
        #expect(try JSONValue(parsing: "9223372036854775807") == .integer(.max))
        #expect(try JSONValue(parsing: "-9223372036854775808") == .integer(.min))
        #expect(try JSONValue(parsing: "9223372036854775808") == .unsigned(1 << 63))
        #expect(try JSONValue(parsing: "18446744073709551615") == .unsigned(.max))
        #expect(try JSONValue(parsing: "1.0") == .number(1))
    }

    @Test func membersKeepTheirOrderAndTheLastOfANameCounts() throws {
        let value = try JSONValue(parsing: #"{"b":1,"a":2,"b":3,"":4,"\u0000":5}"#)
        guard case .object(let members) = value else {
            Issue.record("no object")
            return
        }
        #expect(members.map(\.name) == ["b", "a", "b", "", "\u{0}"])
        #expect(value["b"] == .integer(3))
        #expect(value[""] == .integer(4))
    }

    @Test func wholeNumbersAreReadHoweverWritten() {
        #expect(JSONValue.number(20).int == 20)
        #expect(JSONValue.number(20.5).int == nil)
        #expect(JSONValue.number(1e300).int == nil)
        #expect(JSONValue.unsigned(.max).int == nil)
        #expect(JSONValue.string("20").int == nil)
    }

    @Test(arguments: [
        ("", "expected a value at line 1 column 1, the end of the text"),
        ("{\n  \"a\": 1,\n  \"b\": [1, 2\n}", "expected ',' or ']' at line 4 column 1"),
        (#"{"a":1 "b":2}"#, "expected ',' or '}' at line 1 column 8"),
        (#"{"a" 1}"#, "expected ':' at line 1 column 6"),
        (#"{"a":1,}"#, "expected a key in '\"' at line 1 column 8"),
        ("{'a':1}", "expected a key in '\"' or '}' at line 1 column 2"),
        ("[1,]", "expected a value at line 1 column 4"),
        ("[01]", "number with a leading zero at line 1 column 2"),
        ("[-]", "expected a digit at line 1 column 3"),
        ("[1.]", "expected a digit after '.' at line 1 column 4"),
        ("[1e+]", "expected a digit in the exponent at line 1 column 5"),
        ("[+1]", "expected a value or ']' at line 1 column 2"),
        ("[nul]", "expected a value or ']' at line 1 column 2"),
        ("NaN", "expected a value at line 1 column 1"),
        (#"["a\x"]"#, "expected one of \"\\/bfnrtu after a backslash at line 1 column 5"),
        (#"["\u12g4"]"#, "expected four hexadecimal digits after \\u at line 1 column 7"),
        (#"["\ud800"]"#, "half of a surrogate pair at line 1 column 3"),
        (#"["\udc00"]"#, "half of a surrogate pair at line 1 column 3"),
        ("[\"a\tb\"]", "control character in a string at line 1 column 4"),
        ("\"open", "expected '\"' at line 1 column 6, the end of the text"),
        ("[1] 2", "expected the end of the text at line 1 column 5"),
        ("\u{FEFF}[]", "expected a value at line 1 column 1"),
        ("[18446744073709551616]", "integer beyond 64 bits at line 1 column 2"),
        ("[-9223372036854775809]", "integer beyond 64 bits at line 1 column 2"),
        ("[1e309]", "number beyond the range of a double at line 1 column 2"),
    ])
    func badTextIsRefusedWithItsPlace(text: String, message: String) {
        let error = #expect(throws: NightjarError.self) { try JSONValue(parsing: text) }
        #expect(error?.kind == .decoding)
        #expect(error?.message == "invalid JSON: \(message)")
    }

    @Test(arguments: [
        [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0xF0, 0x8F, 0xBF, 0xBF],
    ])
    func invalidUTF8IsRefused(bytes: [UInt8]) {
        let text = Array("[\"".utf8) + bytes + Array("\"]".utf8)
        let error = #expect(throws: NightjarError.self) {
            try text.withUnsafeBytes { try JSONValue(parsing: $0) }
        }
        #expect(error?.message == "invalid JSON: invalid UTF-8 at line 1 column 3")
    }

    @Test func depthIsBounded() throws {
        func nested(_ depth: Int, _ inner: String) -> String {
            String(repeating: "[", count: depth) + inner + String(repeating: "]", count: depth)
        }
        _ = try JSONValue(parsing: nested(1023, "1"))
        for (depth, inner) in [(1024, "1"), (100_000, "")] {
            let error = #expect(throws: NightjarError.self) { try JSONValue(parsing: nested(depth, inner)) }
            #expect(error?.message == "invalid JSON: nested too deep at line 1 column 1024")
        }
    }

    @Test func everyCutOfATextIsRefused() throws {
        let text = Array(#"{"a":[1,-2.5e-3,"x\u00e9\n",true,false,null,{}],"é":{"b":[[]]}}"#.utf8)
        _ = try text.withUnsafeBytes { try JSONValue(parsing: $0) }
        for end in text.indices {
            let error = #expect(throws: NightjarError.self) {
                try text[..<end].withUnsafeBytes { try JSONValue(parsing: $0) }
            }
            #expect(error?.message.contains("line 1") == true, "cut at \(end)")
        }
    }
}
