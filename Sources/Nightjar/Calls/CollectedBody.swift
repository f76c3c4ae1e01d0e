import NIOCore
import NightjarHTTP

/// The body of a response that is collected in memory.
struct CollectedBody {
    private var content = ByteBuffer()

    /// Reserves memory for the announced body and a trailing NUL. At most 1 MiB is reserved, so a wrong length wastes
    /// little.
    ///
    /// - Throws: `no_memory`.
    mutating func reserve(_ announced: Int, maximum: Int) throws(NightjarError) {
        let size = min(announced, maximum, CollectedBody.largestReserve) + 1
        try content.reserve(size, for: CollectedBody.purpose)
    }

    /// - Parameter reservation: Counts the collected bytes. Nil: the bytes are not counted.
    /// - Throws: `too_large` if the body becomes larger than `maximum` or exceeds the memory limit of `reservation`;
    ///   `no_memory`.
    mutating func append(
        _ part: ByteBuffer, maximum: Int, countedBy reservation: MemoryReservation?
    ) throws(NightjarError) {
        guard content.readableBytes + part.readableBytes <= maximum else { throw .tooLarge(maximum) }
        if let reservation, !reservation.add(part.readableBytes) { throw .noRoom }
        do throws(NightjarError) {
            try content.append(part, for: CollectedBody.purpose)
        } catch {
            reservation?.remove(part.readableBytes)
            throw error
        }
    }

    mutating func discard(countedBy reservation: MemoryReservation?) {
        reservation?.remove(content.readableBytes)
        content = ByteBuffer()
    }

    /// Returns the body, which stays counted. The returned buffer has one owner, so that appending a NUL needs no copy.
    mutating func take() -> ByteBuffer {
        var body = ByteBuffer()
        swap(&body, &content)
        return body
    }

    /// The maximum number of bytes reserved before content arrives.
    private static let largestReserve = 1 << 20
    private static let purpose = "the response's body"
}
