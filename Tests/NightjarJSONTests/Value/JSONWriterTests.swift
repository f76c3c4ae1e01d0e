import NIOCore
import NightjarJSON
import NightjarTestSupport
import Testing

@Suite struct JSONWriterTests {
    /// Reading and writing the text gives the same text.
    @Test(arguments: [
        "null", "true", "false", "0", "-1", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
        "1.5", "-0.0", "1e+30", "5e-324", "1.7976931348623157e+308", "0.1", "100000.0", "\"\"", "[]", "{}",
        #"[1,[2,[]],{}]"#, #"{"b":1,"a":{"b":[null]},"a":2}"#, "\"caf\u{E9} \u{1F319} /\"",
        #""\"\\\n\r\t\u0000\u0008\u000c\u001f\u007f""#, #"{"":{"\n":""}}"#,
    ])
    func writes(_ text: String) throws {
        #expect(String(buffer: try JSONValue(parsing: text).encoded()) == text)
    }

    @Test func whatIsNoNumberIsToldWithItsPlace() {
        let value = JSONValue.object([.init("a", .array([.integer(1), .number(.nan)]))])
        let error = #expect(throws: NightjarError.self) { try value.encoded() }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message == "the JSON at \"/a/1\" contains nan, which JSON cannot represent")
        let bare = #expect(throws: NightjarError.self) { try JSONValue.number(-.infinity).encoded() }
        #expect(bare?.message == "the JSON contains -inf, which JSON cannot represent")
    }

    @Test func whatIsWrittenIsReadBackAsItWas() throws {
        var random = SeededRandom(seed: 8259)
        for _ in 0..<2000 {
            let value = JSONWriterTests.value(&random, 4)
            let text = String(buffer: try value.encoded())
            #expect(try JSONValue(parsing: text) == value, "\(text)")
        }
    }

    private static func value(_ random: inout SeededRandom, _ depth: Int) -> JSONValue {
        func text() -> String { String(decoding: random.bytes(Int.random(in: 0..<6, using: &random)), as: UTF8.self) }
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &random))
        case 2: return .integer(Int64(bitPattern: random.next()))
        case 3: return .unsigned(random.next() | 1 << 63)
        case 4:
            let number = Double(bitPattern: random.next())
            return .number(number.isFinite ? number : 0.5)
        case 5: return .string(text())
        case 6: return .array((0..<3).map { _ in value(&random, depth - 1) })
        default: return .object((0..<3).map { _ in .init(text(), value(&random, depth - 1)) })
        }
    }
}
