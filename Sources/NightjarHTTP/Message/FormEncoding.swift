import NIOCore

/// A form in the format `application/x-www-form-urlencoded`. WHATWG URL section 5.2.
///
/// Line breaks are not converted to CRLF. Browsers convert line breaks only in HTML forms, not in URLSearchParams.
public enum FormEncoding {
    public static let contentType = "application/x-www-form-urlencoded"

    /// The bytes that are not encoded: letters, digits and `*-._`
    private static let plain = ByteSet(low: 0x03ff_6400_0000_0000, high: 0x07ff_fffe_87ff_fffe)

    /// Encodes the pairs in order. Names may repeat.
    public static func encode(_ pairs: [(name: String, value: String)]) -> ByteBuffer {
        // The minimum size. The buffer grows if bytes must be encoded.
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

    package static func write(_ text: String, into buffer: inout ByteBuffer) {
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
