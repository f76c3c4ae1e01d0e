import NIOCore
import NIOHPACK

/// A field block without Huffman coding and without changes of the dynamic table (RFC 7541 section 6.2.2).
enum FieldBlock {
    /// The size from which a head may not fit into one frame.
    static let sizeLimit = 16_000

    /// The upper bound of the encoded size of fields.
    static func size(_ fields: HPACKHeaders) -> Int {
        fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 8 }
    }

    static func encode(_ fields: HPACKHeaders) -> ByteBuffer {
        var block = ByteBuffer()
        block.reserveCapacity(size(fields))
        for field in fields {
            block.writeInteger(UInt8(0))
            write(field.name, to: &block)
            write(field.value, to: &block)
        }
        return block
    }

    /// Writes a string literal (RFC 7541 section 5.2), whose length is an integer with a prefix of 7 bits (section 5.1).
    private static func write(_ text: String, to block: inout ByteBuffer) {
        var rest = text.utf8.count
        if rest < 127 {
            block.writeInteger(UInt8(rest))
        } else {
            block.writeInteger(UInt8(127))
            rest -= 127
            while rest >= 128 {
                block.writeInteger(UInt8(rest % 128 + 128))
                rest /= 128
            }
            block.writeInteger(UInt8(rest))
        }
        block.writeString(text)
    }
}
