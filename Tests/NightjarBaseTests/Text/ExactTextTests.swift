import NightjarTestSupport
import Testing

@testable import NightjarBase

/// External texts are compared by code points. Swift treats canonically equivalent texts as equal.
@Suite struct ExactTextTests {
    /// Swift's `==` treats the two texts as equal.
    private static let composed = "caf\u{e9}"
    private static let decomposed = "cafe\u{301}"

    private let one = ExactTextTests.composed
    private let other = ExactTextTests.decomposed

    @Test func equivalentTextsDifferExactly() {
        #expect(one == other)
        #expect("K" == "\u{212A}")
        #expect(!one.isExactly(other))
        #expect(!"K".isExactly("\u{212A}"))
        // These texts have the same length but different bytes.
        #expect(!"a\u{323}\u{307}".isExactly("a\u{307}\u{323}"))
        #expect("a\u{323}\u{307}" == "a\u{307}\u{323}")
        #expect(one.isExactly("caf" + "\u{e9}"))
        #expect("".isExactly(""))
    }

    @Test func dictionariesAndSetsDistinguishEquivalentKeys() {
        var table = ExactDictionary<Int>()
        table[one] = 1
        table[other] = 2
        #expect(table.count == 2)
        #expect(table[one] == 1)
        table.removeValue(one)
        #expect(table[one] == nil && table[other] == 2)
        var set = ExactSet([one])
        #expect(!set.contains(other))
        #expect(set.insert(other) && !set.insert(other))
    }

    /// Each accented letter has two spellings, so many names can be equivalent. Equivalent names must not collide.
    @Test func manyEquivalentNamesAreFoundQuickly() {
        let seconds = processorSeconds {
            var set = ExactSet()
            for number in 0..<(1 << 15) {
                set.insert((0..<15).map { number >> $0 & 1 == 0 ? "\u{e9}" : "e\u{301}" }.joined())
            }
        }
        #expect(seconds < 20)
    }
}
