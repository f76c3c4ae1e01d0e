/// SHA-1 (FIPS 180-4), only for tests. The code is short, but slow.
enum TestSHA1 {
    static func digest(_ message: [UInt8]) -> [UInt8] {
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        padded += withUnsafeBytes(of: UInt64(message.count * 8).bigEndian, Array.init)
        for start in stride(from: 0, to: padded.count, by: 64) {
            var words = stride(from: start, to: start + 64, by: 4).map { at in
                padded[at..<at + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for at in 16..<80 { words.append(turn(words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16], 1)) }
            var v = state
            for (step, word) in words.enumerated() {
                let (mix, constant): (UInt32, UInt32) =
                    switch step / 20 {
                    case 0: (v[1] & v[2] | ~v[1] & v[3], 0x5A82_7999)
                    case 1: (v[1] ^ v[2] ^ v[3], 0x6ED9_EBA1)
                    case 2: (v[1] & v[2] | v[1] & v[3] | v[2] & v[3], 0x8F1B_BCDC)
                    default: (v[1] ^ v[2] ^ v[3], 0xCA62_C1D6)
                    }
                let first = turn(v[0], 5) &+ mix &+ v[4] &+ constant &+ word
                v = [first, v[0], turn(v[1], 30), v[2], v[3]]
            }
            state = zip(state, v).map { $0 &+ $1 }
        }
        return state.flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) }
    }

    private static func turn(_ word: UInt32, _ by: UInt32) -> UInt32 { word &<< by | word &>> (32 - by) }
}
