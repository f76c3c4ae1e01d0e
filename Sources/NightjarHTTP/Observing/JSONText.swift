import NIOCore

/// Writes JSON text, in the order of the calls. RFC 8259.
///
/// Whoever calls it closes what it opens; commas come by themselves.
struct JSONText {
    private(set) var buffer: ByteBuffer
    private var needsComma = false

    init(into buffer: ByteBuffer = ByteBuffer()) { self.buffer = buffer }

    mutating func object(_ name: String? = nil, _ members: (inout JSONText) -> Void) {
        open(name, "{")
        members(&self)
        close("}")
    }

    mutating func array<Elements: Sequence>(
        _ name: String? = nil, _ elements: Elements, _ element: (inout JSONText, Elements.Element) -> Void
    ) {
        open(name, "[")
        for item in elements { element(&self, item) }
        close("]")
    }

    mutating func member(_ name: String, _ text: String) {
        begin(name)
        writeString(text)
    }

    mutating func member(_ name: String, _ number: Int) {
        begin(name)
        buffer.writeString(String(number))
    }

    /// To three digits behind the point; -1 for what is no number.
    mutating func member(_ name: String, _ number: Double) {
        begin(name)
        let thousandths = (number * 1000).rounded()
        guard thousandths.isFinite, abs(thousandths) < 1e15 else {
            buffer.writeString("-1")
            return
        }
        let whole = thousandths / 1000
        buffer.writeString(whole == whole.rounded() ? String(Int64(whole)) : String(whole))
    }

    private mutating func open(_ name: String?, _ bracket: StaticString) {
        if let name { begin(name) } else { separate() }
        buffer.writeStaticString(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: StaticString) {
        buffer.writeStaticString(bracket)
        needsComma = true
    }

    private mutating func begin(_ name: String) {
        separate()
        writeString(name)
        buffer.writeStaticString(":")
    }

    private mutating func separate() {
        if needsComma { buffer.writeStaticString(",") }
        needsComma = true
    }

    private mutating func writeString(_ text: String) {
        var text = text
        buffer.writeStaticString("\"")
        text.withUTF8 { bytes in
            var start = 0
            while start < bytes.count {
                var end = start
                while end < bytes.count, !JSONText.isEscaped(bytes[end]) { end += 1 }
                buffer.writeBytes(UnsafeBufferPointer(rebasing: bytes[start..<end]))
                guard end < bytes.count else { break }
                writeEscaped(bytes[end])
                start = end + 1
            }
        }
        buffer.writeStaticString("\"")
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte == 0x7F
    }

    private mutating func writeEscaped(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): buffer.writeStaticString("\\\"")
        case UInt8(ascii: "\\"): buffer.writeStaticString("\\\\")
        case 0x0A: buffer.writeStaticString("\\n")
        case 0x0D: buffer.writeStaticString("\\r")
        case 0x09: buffer.writeStaticString("\\t")
        default: buffer.writeString((byte < 0x10 ? "\\u000" : "\\u00") + String(byte, radix: 16))
        }
    }
}
