import CIDN2

/// Converts internationalized host names to ASCII by RFC 5891 and UTS #46 (nontransitional), as browsers do.
enum InternationalName {
    /// The maximum length of the UTF-8 input in bytes. A name of 253 characters with four bytes each is allowed.
    private static let longest = 1024

    /// Returns the ASCII form of a name. Case and width are mapped: `Ｂücher。example` becomes `xn--bcher-kva.example`.
    /// The result may be an invalid host name or a numeric address. The caller must validate it.
    ///
    /// - Parameter name: a name without control characters.
    static func ascii(_ name: UnsafeRawBufferPointer) throws(NightjarError) -> String {
        guard name.count <= longest else {
            throw NightjarError(.invalidURL, "the host has \(name.count) bytes, but the maximum is \(longest)")
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
                "the host \(quoted(name)) is not a valid IDNA 2008 name: \(String(cString: idn2_strerror(status)))")
        }
        return String(cString: converted)
    }
}
