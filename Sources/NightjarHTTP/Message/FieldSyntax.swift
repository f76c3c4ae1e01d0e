/// The grammar of field names and values. RFC 9110 sections 5.1, 5.5 and 5.6.2.
public enum FieldSyntax {
    /// The bytes of tokens: letters, digits and !#$%&'*+-.^_`|~
    private static let token = ByteSet(low: 0x03ff_6cfa_0000_0000, high: 0x57ff_ffff_c7ff_fffe)

    public static func isTokenByte(_ byte: UInt8) -> Bool { token.contains(byte) }

    /// Returns true for visible characters, space, tab and obs-text (bytes from 0x80).
    @inlinable
    public static func isValueByte(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F || byte == 0x09
    }

    public static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
    }

    public static func isValue(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy(isValueByte)
    }

    /// Returns the end of the run of token bytes that begins at `start`. Checks eight bytes at a time.
    @inline(__always)
    static func endOfToken(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var at = start
        while bytes.count - at >= 8 {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
            at += (letterBytes(word) ^ highBits).trailingZeroBitCount / 8
            // The byte after the letters is usually the colon.
            guard at < bytes.count, isTokenByte(bytes[at]) else { return at }
            at += 1
        }
        while at < bytes.count, isTokenByte(bytes[at]) { at += 1 }
        return at
    }

    /// Returns a word in which the high bit of each byte that is a letter in `word` is set.
    @inline(__always)
    private static func letterBytes(_ word: UInt64) -> UInt64 {
        let lower = word | 0x20 &* ones
        let low = lower & ~highBits
        let fromA = low &+ (0x80 - UInt64(UInt8(ascii: "a"))) &* ones
        let beyondZ = low &+ (0x7F - UInt64(UInt8(ascii: "z"))) &* ones
        return fromA & ~beyondZ & ~word & highBits
    }

    /// Returns the end of the run of value bytes that begins at `start`. Checks eight bytes at a time.
    @inline(__always)
    static func endOfValue(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var at = start
        while bytes.count - at >= 8 {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
            let controls = controlBytes(word)
            guard controls != 0 else {
                at += 8
                continue
            }
            at += controls.trailingZeroBitCount / 8
            guard bytes[at] == 0x09 else { return at }
            at += 1
        }
        while at < bytes.count, isValueByte(bytes[at]) { at += 1 }
        return at
    }

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Returns a word in which the high bit of each byte that is below 0x20 or equal to 0x7F in `word` is set. Only the
    /// lowest set bit is reliable: the borrow of a subtraction may also mark higher bytes.
    @inline(__always)
    private static func controlBytes(_ word: UInt64) -> UInt64 {
        let belowSpace = (word &- 0x20 &* ones) & ~word
        let delete = word ^ (0x7F &* ones)
        return (belowSpace | (delete &- ones) & ~delete) & highBits
    }
}
