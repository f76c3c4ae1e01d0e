import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct FieldSyntaxTests {
    @Test func tokenBytesMatchRFC9110() {
        let token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8
        for byte in UInt8.min...UInt8.max {
            #expect(FieldSyntax.isTokenByte(byte) == token.contains(byte), "\(byte)")
        }
    }

    /// Tests each byte at each position, because the function checks eight bytes at a time. The other bytes are valid.
    @Test func endOfAValueIsFoundAtEachPosition() {
        for byte in UInt8.min...UInt8.max {
            for position in 0..<20 {
                for filler: UInt8 in [0x20, 0x7E, 0x80, 0xFF, 0x09] {
                    var bytes = [UInt8](repeating: filler, count: 20)
                    bytes[position] = byte
                    let end = bytes.withUnsafeBytes { FieldSyntax.endOfValue($0, from: 0) }
                    #expect(end == (FieldSyntax.isValueByte(byte) ? 20 : position))
                }
            }
        }
    }
}
