import NIOCore

/// A 64-bit hash. Different values may have the same hash, so the caller must compare them.
///
/// The seed differs in each process, so an attacker does not know which values have the same hash.
package struct Fingerprint {
    package private(set) var value = seed

    private static let seed = UInt64(truncatingIfNeeded: Hasher().finalize())

    package init() {}

    @inline(__always)
    package mutating func add(_ number: UInt64) {
        // Uses both halves of the product, because in the low half, equal differences in two numbers can cancel.
        let product = (value ^ number).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        value = product.high ^ product.low
    }

    @inline(__always)
    package mutating func add(_ bytes: UnsafeRawBufferPointer) {
        var at = 0
        while at + 8 <= bytes.count {
            add(bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
            at += 8
        }
        var rest = UInt64(truncatingIfNeeded: bytes.count)
        while at < bytes.count {
            rest = rest << 8 | UInt64(bytes[at])
            at += 1
        }
        add(rest)
    }

    @inline(__always)
    package mutating func add(_ text: borrowing String) {
        var text = copy text
        text.withUTF8 { add(UnsafeRawBufferPointer($0)) }
    }

    package static func of(_ bytes: borrowing ByteBuffer) -> UInt64 {
        var fingerprint = Fingerprint()
        bytes.withUnsafeReadableBytes { fingerprint.add($0) }
        return fingerprint.value
    }
}
