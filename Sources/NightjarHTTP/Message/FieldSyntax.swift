/// The grammar of field names and values. RFC 9110 sections 5.1, 5.5 and 5.6.2.
public enum FieldSyntax {
    /// One bit a byte: set when the byte may stand in a token.
    private static let tokenBytes: (UInt64, UInt64) = {
        var low: UInt64 = 0
        var high: UInt64 = 0
        for byte in "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte - 64) }
        }
        return (low, high)
    }()

    @inlinable
    public static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
        default: isRareTokenByte(byte)
        }
    }

    @usableFromInline
    static func isRareTokenByte(_ byte: UInt8) -> Bool {
        if byte < 64 { return tokenBytes.0 >> UInt64(byte) & 1 == 1 }
        return byte < 128 && tokenBytes.1 >> UInt64(byte - 64) & 1 == 1
    }

    /// Visible characters, space, tab and obs-text; no other control character.
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
}
