/// The value of a Host field that a caller set. RFC 9110 section 7.2.
enum HostField {
    /// Letters, digits and what names, addresses and ports are made of.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        PercentEncoding.unreserved.contains(byte) || ":[]".utf8.contains(byte)
    }

    static func check(_ value: String) throws(NightjarError) {
        guard !value.isEmpty, value.utf8.allSatisfy(isHostByte) else {
            throw NightjarError(
                .invalidRequest, "header \"Host\" is not a host with an optional port: \(quoted(value))")
        }
    }
}
