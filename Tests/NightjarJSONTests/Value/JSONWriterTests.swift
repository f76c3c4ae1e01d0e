import NIOCore
import NightjarJSON
import NightjarTestSupport
import Testing

@Suite struct JSONWriterTests {
    @Test func nanIsReportedWithItsPath() {
        let value = JSONValue.object([.init("a", .array([.integer(1), .number(.nan)]))])
        let error = #expect(throws: NightjarError.self) { try value.encoded() }
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message == "the value at \"/a/1\" is nan, which JSON cannot represent")
        let bare = #expect(throws: NightjarError.self) { try JSONValue.number(-.infinity).encoded() }
        #expect(bare?.message == "the value is -inf, which JSON cannot represent")
    }

    @Test func randomValuesRoundTrip() throws {
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
