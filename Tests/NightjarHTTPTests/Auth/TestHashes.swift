import Glibc

@testable import NightjarHTTP

/// The hash functions of Digest authentication (RFC 1321, FIPS 180-4), only for tests. The code is short, but slow.
enum TestHashes {
    static let all: [DigestAuthentication.Algorithm: DigestAuthentication.Hash] = [
        .md5: md5, .sha256: sha256, .sha512_256: sha512_256,
    ]

    @Sendable static func md5(_ message: [UInt8]) -> [UInt8] {
        let shifts: [UInt32] = [7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21]
        var state: [UInt32] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476]
        let length = withUnsafeBytes(of: UInt64(message.count * 8).littleEndian, Array.init)
        for block in blocks(message, of: 64, length: length) {
            let words = self.words(block).map { (word: UInt32) in word.byteSwapped }
            var (a, b, c, d) = (state[0], state[1], state[2], state[3])
            for step in 0..<64 {
                let (mix, index): (UInt32, Int) =
                    switch step / 16 {
                    case 0: (b & c | ~b & d, step)
                    case 1: (d & b | ~d & c, 5 * step + 1)
                    case 2: (b ^ c ^ d, 3 * step + 5)
                    default: (c ^ (b | ~d), 7 * step)
                    }
                let sine = UInt32(abs(sin(Double(step + 1))) * 4_294_967_296)
                let sum = a &+ mix &+ sine &+ words[index % 16]
                let shift = shifts[step / 16 * 4 + step % 4]
                (a, d, c, b) = (d, c, b, b &+ (sum &<< shift | sum &>> (32 - shift)))
            }
            state = zip(state, [a, b, c, d]).map { $0 &+ $1 }
        }
        return state.flatMap { withUnsafeBytes(of: $0.littleEndian, Array.init) }
    }

    @Sendable static func sha256(_ message: [UInt8]) -> [UInt8] {
        let start: [UInt32] = [
            0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19,
        ]
        return sha2(
            message, start, constants.prefix(64).map { UInt32($0 >> 32) },
            shifts: (2, 13, 22, 6, 11, 25), (7, 18, 3, 17, 19, 10))
    }

    @Sendable static func sha512_256(_ message: [UInt8]) -> [UInt8] {
        let start: [UInt64] = [
            0x2231_2194_FC2B_F72C, 0x9F55_5FA3_C84C_64C2, 0x2393_B86B_6F53_B151, 0x9638_7719_5940_EABD,
            0x9628_3EE2_A88E_FFE3, 0xBE5E_1E25_5386_3992, 0x2B01_99FC_2C85_B8AA, 0x0EB7_2DDC_81C5_2CA2,
        ]
        return Array(
            sha2(message, start, constants, shifts: (28, 34, 39, 14, 18, 41), (1, 8, 7, 19, 61, 6)).prefix(32))
    }

    private typealias Shifts<Word> = (Word, Word, Word, Word, Word, Word)

    private static func sha2<Word: FixedWidthInteger & UnsignedInteger & Sendable>(
        _ message: [UInt8], _ start: [Word], _ constants: [Word], shifts big: Shifts<Word>, _ small: Shifts<Word>
    ) -> [UInt8] {
        func turn(_ word: Word, _ by: Word) -> Word { word &>> by | word &<< (Word(Word.bitWidth) - by) }
        var state = start
        let length = withUnsafeBytes(of: UInt64(message.count * 8).bigEndian, Array.init)
        for block in blocks(message, of: Word.bitWidth * 2, length: length) {
            var words: [Word] = self.words(block)
            for at in 16..<constants.count {
                let (early, late) = (words[at - 15], words[at - 2])
                let first = turn(early, small.0) ^ turn(early, small.1) ^ early &>> small.2
                let second = turn(late, small.3) ^ turn(late, small.4) ^ late &>> small.5
                words.append(words[at - 16] &+ first &+ words[at - 7] &+ second)
            }
            var v = state
            for (word, constant) in zip(words, constants) {
                let high = turn(v[4], big.3) ^ turn(v[4], big.4) ^ turn(v[4], big.5)
                let choice = v[4] & v[5] ^ ~v[4] & v[6]
                let first = v[7] &+ high &+ choice &+ constant &+ word
                let low = turn(v[0], big.0) ^ turn(v[0], big.1) ^ turn(v[0], big.2)
                let majority = v[0] & v[1] ^ v[0] & v[2] ^ v[1] & v[2]
                v = [first &+ low &+ majority, v[0], v[1], v[2], v[3] &+ first, v[4], v[5], v[6]]
            }
            state = zip(state, v).map { $0 &+ $1 }
        }
        return state.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) }
    }

    private static func blocks(_ message: [UInt8], of size: Int, length: [UInt8]) -> [ArraySlice<UInt8>] {
        var padded = message + [0x80]
        // The length field has 64 bits, or 128 bits for the hash functions with 64-bit words.
        while (padded.count + size / 8) % size != 0 { padded.append(0) }
        padded += [UInt8](repeating: 0, count: size / 8 - 8) + length
        return stride(from: 0, to: padded.count, by: size).map { padded[$0..<$0 + size] }
    }

    private static func words<Word: FixedWidthInteger>(_ block: ArraySlice<UInt8>) -> [Word] {
        let size = Word.bitWidth / 8
        return stride(from: block.startIndex, to: block.endIndex, by: size).map { start in
            block[start..<start + size].reduce(Word(0)) { $0 << 8 | Word($1) }
        }
    }

    private static let constants: [UInt64] = [
        0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
        0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
        0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
        0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
        0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
        0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
        0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
        0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
        0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
        0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
        0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
        0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
        0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
        0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
        0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
        0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
    ]
}
