import NIOCore

extension ByteBuffer {
    /// Writes a text as a quoted JSON string. RFC 8259 section 7.
    ///
    /// Escapes the characters that RFC 8259 requires to be escaped. Also escapes DEL, which is invisible in terminals.
    package mutating func writeJSONString(_ text: String) {
        var text = text
        writeStaticString("\"")
        text.withUTF8 { bytes in
            var start = 0
            while true {
                var end = start
                while end < bytes.count, !ByteBuffer.isEscaped(bytes[end]) { end += 1 }
                writeBytes(UnsafeBufferPointer(rebasing: bytes[start..<end]))
                guard end < bytes.count else { break }
                writeJSONEscape(bytes[end])
                start = end + 1
            }
        }
        writeStaticString("\"")
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private mutating func writeJSONEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): writeStaticString("\\\"")
        case UInt8(ascii: "\\"): writeStaticString("\\\\")
        case 0x0A: writeStaticString("\\n")
        case 0x0D: writeStaticString("\\r")
        case 0x09: writeStaticString("\\t")
        default: writeString((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16))
        }
    }
}
