import NIOCore

/// A form as `application/x-www-form-urlencoded`. WHATWG URL section 5.2.
///
/// Line ends stay as they are, as in a script's URLSearchParams; that they become CRLF is a rule for forms in a page.
public enum FormEncoding {
    public static let contentType = "application/x-www-form-urlencoded"

    /// Letters, digits and *-._
    private static let plain = ByteSet(low: 0x03ff_6400_0000_0000, high: 0x07ff_fffe_87ff_fffe)

    /// The pairs in their order; names may repeat.
    public static func encode(_ pairs: [(name: String, value: String)]) -> ByteBuffer {
        // Nearly all bytes of nearly all forms stay one byte; the buffer grows for the others.
        let size = pairs.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 2 }
        var buffer = ByteBufferAllocator().buffer(capacity: size)
        for (position, pair) in pairs.enumerated() {
            if position > 0 { buffer.writeStaticString("&") }
            write(pair.name, into: &buffer)
            buffer.writeStaticString("=")
            write(pair.value, into: &buffer)
        }
        return buffer
    }

    static func write(_ text: String, into buffer: inout ByteBuffer) {
        for byte in text.utf8 {
            if plain.contains(byte) {
                buffer.writeInteger(byte)
            } else if byte == UInt8(ascii: " ") {
                buffer.writeStaticString("+")
            } else {
                PercentEncoding.writeEncoded(byte, into: &buffer)
            }
        }
    }
}
