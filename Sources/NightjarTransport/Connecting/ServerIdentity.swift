import NightjarHTTP

/// Whom a certificate is for, and whether that is the host that was asked for. RFC 9110 section 4.3.4, RFC 9525 section 6.
///
/// Not SwiftNIO's check: that also accepts a certificate for the address that the socket is connected to, so whoever could
/// bend DNS, and every proxy, would need none but their own.
struct ServerIdentity {
    /// DNS names, as they stand in the certificate.
    var names: [[UInt8]] = []
    /// Of 4 or 16 bytes.
    var addresses: [[UInt8]] = []

    /// - Parameter host: as ``Origin/host`` has it. A name is looked for among the names, and an address among the
    ///   addresses; the common name is nobody's identity any more (section 2).
    func isFor(_ host: String) -> Bool {
        if let address = NumericAddress.bytes(host.utf8) { return addresses.contains(address) }
        // The dot that ends a full name is DNS's.
        let name = host.utf8.last == UInt8(ascii: ".") ? host.utf8.dropLast() : host.utf8[...]
        return names.contains { ServerIdentity.matches(name, $0[...]) }
    }

    /// - Parameter pattern: a name, or one whose first label is `*` alone, which stands for one label (section 6.3); not
    ///   right below a top-level domain.
    private static func matches(_ name: Substring.UTF8View, _ pattern: ArraySlice<UInt8>) -> Bool {
        let pattern = pattern.last == UInt8(ascii: ".") ? pattern.dropLast() : pattern
        guard pattern.starts(with: "*.".utf8) else { return ASCII.equalIgnoringCase(name, pattern) }
        let parent = pattern.dropFirst()
        guard parent.dropFirst().contains(UInt8(ascii: ".")), let dot = name.firstIndex(of: UInt8(ascii: ".")),
            dot > name.startIndex
        else { return false }
        return ASCII.equalIgnoringCase(name[dot...], parent)
    }

    /// Some of it, for a message.
    var description: String {
        let shown = names.prefix(4).map { quoted(String(decoding: $0, as: UTF8.self)) }
        return shown.isEmpty ? "it names no host" : "it is for " + shown.joined(separator: ", ")
    }
}
