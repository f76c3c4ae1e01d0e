import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct IdempotencyKeyTests {
    private struct Constant: RandomNumberGenerator {
        let value: UInt64
        mutating func next() -> UInt64 { value }
    }

    @Test func keyIsARandomUUID() {
        var zeros = Constant(value: 0)
        var ones = Constant(value: .max)
        #expect(IdempotencyKey(using: &zeros).text == "00000000-0000-4000-8000-000000000000")
        #expect(IdempotencyKey(using: &ones).text == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    }

    @Test func keysAreUnique() {
        var random = SeededRandom(seed: 1)
        let keys = Set((0..<1000).map { _ in IdempotencyKey(using: &random) })
        #expect(keys.count == 1000)
    }

    @Test func explicitKeyMustBeAValidFieldValue() {
        #expect(IdempotencyKey("order-17")?.text == "order-17")
        #expect(IdempotencyKey(String(repeating: "k", count: 255)) != nil)
        for text in ["", "a b", "a\r\nb", "ä", "\u{7F}", String(repeating: "k", count: 256)] {
            #expect(IdempotencyKey(text) == nil)
        }
    }
}
