import NightjarHTTP

/// The bytes that one object reserves for a script, such as for an incomplete line. Replaces the reservation as the object
/// grows and shrinks.
struct HeldBytes {
    private var count = 0

    /// Reserves `bytes` instead of the bytes reserved before.
    ///
    /// - Parameter reservation: Nil: the memory of the call is not limited.
    /// - Returns: False if the limit would be exceeded. Nothing is reserved then.
    mutating func set(_ bytes: Int, in reservation: MemoryReservation?) -> Bool {
        guard let reservation, bytes != count else { return true }
        reservation.remove(count)
        count = 0
        guard bytes == 0 || reservation.add(bytes) else { return false }
        count = bytes
        return true
    }
}
