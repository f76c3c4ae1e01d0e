/// A set of keys, represented by 128-bit fingerprints. A large set uses 18 to 37 bytes per key of any length.
///
/// The probability that any two of ten million keys collide is about 2^-82. The fingerprints depend on a random key of
/// the process, so a server cannot choose colliding keys.
struct FingerprintSet: Sendable {
    struct Fingerprint: Sendable, Equatable {
        var low: UInt64
        var high: UInt64

        init(_ bytes: UnsafeRawBufferPointer) {
            var first = Hasher()
            var second = Hasher()
            // Hasher is keyed SipHash. Different prefixes yield two independent hash functions.
            first.combine(UInt8(1))
            second.combine(UInt8(2))
            first.combine(bytes: bytes)
            second.combine(bytes: bytes)
            low = UInt64(bitPattern: Int64(first.finalize()))
            high = UInt64(bitPattern: Int64(second.finalize()))
        }

        init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { Fingerprint($0) } }

        fileprivate init(low: UInt64 = 0, high: UInt64 = 0) {
            self.low = low
            self.high = high
        }

        fileprivate var isNothing: Bool { low == 0 && high == 0 }
    }

    private(set) var count = 0
    /// The slots. Their number is a power of two, and at most seven eighths are used. An empty slot is all zeros.
    private var places: [Fingerprint] = []

    /// - Returns: false if the fingerprint was already in the set.
    mutating func insert(_ fingerprint: Fingerprint) -> Bool {
        if count * 8 >= places.count * 7 { grow() }
        guard place(fingerprint) else { return false }
        count += 1
        return true
    }

    func contains(_ fingerprint: Fingerprint) -> Bool {
        guard !places.isEmpty else { return false }
        var at = Int(fingerprint.low & UInt64(places.count - 1))
        while !places[at].isNothing {
            if places[at] == fingerprint { return true }
            at = (at + 1) & (places.count - 1)
        }
        return false
    }

    private mutating func place(_ fingerprint: Fingerprint) -> Bool {
        let mask = UInt64(places.count - 1)
        var at = Int(fingerprint.low & mask)
        while !places[at].isNothing {
            if places[at] == fingerprint { return false }
            at = (at + 1) & Int(mask)
        }
        // A fingerprint of zeros looks like an empty slot. Its probability is 2^-128.
        places[at] = fingerprint
        return true
    }

    private mutating func grow() {
        var old: [Fingerprint] = []
        swap(&old, &places)
        places = Array(repeating: Fingerprint(), count: max(64, old.count * 2))
        for fingerprint in old where !fingerprint.isNothing { _ = place(fingerprint) }
    }
}

extension FingerprintSet {
    /// Computes the fingerprint of a sequence of values.
    struct Fold {
        private var first = Hasher()
        private var second = Hasher()

        init() {
            first.combine(UInt8(3))
            second.combine(UInt8(4))
        }

        mutating func add(_ bytes: UnsafeRawBufferPointer) {
            first.combine(bytes.count)
            second.combine(bytes.count)
            first.combine(bytes: bytes)
            second.combine(bytes: bytes)
        }

        mutating func add(_ fingerprint: Fingerprint) {
            first.combine(fingerprint.low)
            second.combine(fingerprint.high)
        }

        var result: Fingerprint {
            Fingerprint(
                low: UInt64(bitPattern: Int64(first.finalize())), high: UInt64(bitPattern: Int64(second.finalize())))
        }
    }
}
