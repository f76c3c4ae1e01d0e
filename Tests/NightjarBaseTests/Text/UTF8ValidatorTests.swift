import NightjarTestSupport
import Testing

@testable import NightjarBase

@Suite struct UTF8ValidatorTests {
    /// Returns the number of bytes that the validator accepts, one at a time, and whether the end is complete.
    private func accepted(_ bytes: [UInt8]) -> (count: Int, isComplete: Bool) {
        var validator = UTF8Validator()
        for (index, byte) in bytes.enumerated() {
            guard withUnsafeBytes(of: byte, { validator.accepts($0) }) else { return (index, false) }
        }
        return (bytes.count, validator.isComplete)
    }

    private func isValid(_ pieces: [ArraySlice<UInt8>]) -> Bool {
        var validator = UTF8Validator()
        return pieces.allSatisfy { piece in Array(piece).withUnsafeBytes { validator.accepts($0) } }
            && validator.isComplete
    }

    /// Scalars of all lengths, and every surrogate, encoded in three bytes.
    @Test func codePointsAreJudged() {
        var text: [UInt8] = []
        for value in stride(from: UInt32(0), through: 0x10FFFF, by: 37) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            text += UTF8.encode(scalar).map(Array.init) ?? []
        }
        #expect(isValid([text[...]]))
        for value in UInt32(0xD800)...0xDFFF {
            let bytes = [0xED, UInt8(0x80 | value >> 6 & 0x3F), UInt8(0x80 | value & 0x3F)]
            #expect(accepted(bytes).count == 1)
        }
    }

    /// Every sequence of two bytes, and every third byte, compared with the standard library.
    @Test func sequencesAreJudgedLikeTheStandardLibrary() {
        for first in UInt8.min...(.max) {
            for second in UInt8.min...(.max) {
                let pair = [first, second]
                #expect(isValid([pair[...]]) == (String(validating: pair, as: UTF8.self) != nil))
                guard first >= 0xE0, second & 0x0F == 0 || second & 0x0F == 0x0F else { continue }
                for third: UInt8 in [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xFF] {
                    for bytes in [[first, second, third], [first, second, third, 0x80]] {
                        #expect(isValid([bytes[...]]) == (String(validating: bytes, as: UTF8.self) != nil))
                    }
                }
            }
        }
    }

    @Test(
        arguments: [
            ([0xC0], 0), ([0xC1], 0), ([0xF5], 0), ([0xE0, 0x9F], 1), ([0xED, 0xA0], 1), ([0xF0, 0x8F], 1),
            ([0xF4, 0x90], 1), ([0x41, 0x80], 1), ([0xE2, 0x82, 0x41], 2),
        ] as [([UInt8], Int)])
    func textIsRejectedAtTheFirstInvalidByte(bytes: [UInt8], count: Int) {
        #expect(accepted(bytes).count == count)
    }

    @Test func splitsDoNotChangeTheResult() {
        let text = Array("ASCII text, \u{E9}\u{20AC}\u{1F600} and more ASCII text \u{10FFFF}".utf8)
        for cut in 0...text.count { #expect(isValid([text[..<cut], text[cut...]])) }
        for index in text.indices {
            var damaged = text
            damaged[index] = 0xFF
            for cut in 0...text.count { #expect(!isValid([damaged[..<cut], damaged[cut...]])) }
        }
    }

    @Test func incompleteEndIsReported() {
        #expect(accepted([0x41, 0xE2, 0x82]) == (3, false))
        #expect(accepted([]) == (0, true))
    }
}
