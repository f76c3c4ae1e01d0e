import NIOCore

/// Checks UTF-8 that arrives in pieces, which may end in the middle of a code point. RFC 3629 section 4.
///
/// Text is rejected at the first byte that cannot continue a valid text: overlong forms, surrogates and code points
/// above U+10FFFF are rejected before their last byte arrives.
package struct UTF8Validator: Sendable {
    /// The number of bytes that are missing from the current code point.
    private var missing: UInt8 = 0
    /// The range of the next byte, if bytes are missing.
    private var low: UInt8 = 0x80
    private var high: UInt8 = 0xBF

    package init() {}

    /// Returns whether bytes are a valid text.
    package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var validator = UTF8Validator()
        return validator.accepts(bytes) && validator.isComplete
    }

    /// True if the bytes so far end with a complete code point.
    package var isComplete: Bool { missing == 0 }

    /// Checks the next bytes.
    ///
    /// - Returns: false if the text is invalid. No other call may follow.
    package mutating func accepts(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var at = 0
        while at < bytes.count {
            let byte = bytes[at]
            if missing > 0 {
                guard byte >= low, byte <= high else { return false }
                (low, high) = (0x80, 0xBF)
                missing &-= 1
            } else if byte < 0x80 {
                at = UTF8Validator.endOfASCII(bytes, from: at)
                continue
            } else if !begin(byte) {
                return false
            }
            at += 1
        }
        return true
    }

    package mutating func accepts(_ buffer: ByteBuffer) -> Bool {
        buffer.withUnsafeReadableBytes { accepts($0) }
    }

    /// Handles the first byte of a code point that has several bytes.
    @inline(__always)
    private mutating func begin(_ byte: UInt8) -> Bool {
        switch byte {
        case 0xC2...0xDF: missing = 1
        case 0xE0: (missing, low) = (2, 0xA0)
        case 0xED: (missing, high) = (2, 0x9F)
        case 0xE1...0xEF: missing = 2
        case 0xF0: (missing, low) = (3, 0x90)
        case 0xF1...0xF3: missing = 3
        case 0xF4: (missing, high) = (3, 0x8F)
        default: return false
        }
        return true
    }

    /// Returns the end of the run of bytes below 0x80 that begins at `start`. Checks 32, then eight bytes at a time.
    @inline(__always)
    private static func endOfASCII(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        var at = start
        while bytes.count - at >= 32 {
            let words = bytes.loadUnaligned(fromByteOffset: at, as: SIMD4<UInt64>.self)
            guard words & 0x8080_8080_8080_8080 == .zero else { break }
            at += 32
        }
        while bytes.count - at >= 8 {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
            let high = word & 0x8080_8080_8080_8080
            guard high == 0 else { return at + high.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < bytes.count, bytes[at] < 0x80 { at += 1 }
        return at
    }
}
