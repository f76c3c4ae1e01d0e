import CIDN2

/// Host names in other letters than ASCII's. RFC 5891 and UTS #46, nontransitional: what browsers do.
enum InternationalName {
    /// Bytes in UTF-8 of what could still be a name of 253.
    private static let longest = 1024

    /// The name as DNS has it, in ASCII. Case and width are mapped, so `Ｂücher。example` is `xn--bcher-kva.example`; what
    /// comes out may be no host name, or a numeric address, and is checked like any other.
    ///
    /// - Parameter name: without control characters.
    static func ascii(_ name: UnsafeRawBufferPointer) throws(NightjarError) -> String {
        guard name.count <= longest else {
            throw NightjarError(.invalidURL, "the host has \(name.count) bytes, and no name is as long")
        }
        guard let text = String(validating: name, as: UTF8.self), !text.utf8.contains(0) else {
            throw NightjarError(.invalidURL, "the host \(quoted(name)) is not UTF-8")
        }
        var converted: UnsafeMutablePointer<UInt8>?
        let flags = Int32(IDN2_NFC_INPUT.rawValue) | Int32(IDN2_NONTRANSITIONAL.rawValue)
        let status = text.withCString(encodedAs: UTF8.self) { idn2_lookup_u8($0, &converted, flags) }
        defer { idn2_free(converted) }
        guard status == Int32(IDN2_OK.rawValue), let converted else {
            throw NightjarError(
                .invalidURL,
                "the host \(quoted(name)) is no name by IDNA 2008: \(String(cString: idn2_strerror(status)))")
        }
        return String(cString: converted)
    }
}
