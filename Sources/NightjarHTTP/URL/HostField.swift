/// Validates the value of a Host field that a caller set. RFC 9110 section 7.2.
enum HostField {
    /// Returns true for the bytes of names, addresses and ports.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        PercentEncoding.unreserved.contains(byte) || ":[]".utf8.contains(byte)
    }

    static func check(_ value: String) throws(NightjarError) {
        guard !value.isEmpty, value.utf8.allSatisfy(isHostByte) else {
            throw NightjarError(
                .invalidRequest, "header \"Host\" must be a host with an optional port, got \(quoted(value))")
        }
    }
}
