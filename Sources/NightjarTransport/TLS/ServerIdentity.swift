import NightjarHTTP

/// The hosts for which a certificate is valid. RFC 9110 section 4.3.4, RFC 9525 section 6.
///
/// The names and addresses are compared with the URL's host, not with the IP address of the socket. Otherwise, a proxy
/// or an attacker with control of DNS could use a certificate for its own address.
struct ServerIdentity {
    /// The DNS names as written in the certificate.
    var names: [[UInt8]] = []
    /// The IP addresses, 4 or 16 bytes each.
    var addresses: [[UInt8]] = []

    /// Returns true if the certificate is for `host`.
    ///
    /// - Parameter host: In the form of ``Origin/host``. A name is compared with ``names``, an address with
    ///   ``addresses``. The common name is not used (RFC 9525 section 2).
    func isFor(_ host: String) -> Bool {
        if let address = NumericAddress.bytes(host.utf8) { return addresses.contains(address) }
        // A trailing dot marks a fully qualified name and is not part of the certificate's name.
        let name = host.utf8.last == UInt8(ascii: ".") ? host.utf8.dropLast() : host.utf8[...]
        return names.contains { ServerIdentity.matches(name, $0[...]) }
    }

    /// Returns true if a host name matches a DNS name of the certificate.
    ///
    /// - Parameter pattern: A DNS name. If its first label is `*`, the label matches any one label (RFC 9525 section
    ///   6.3), but not directly below a top-level domain.
    private static func matches(_ name: Substring.UTF8View, _ pattern: ArraySlice<UInt8>) -> Bool {
        let pattern = pattern.last == UInt8(ascii: ".") ? pattern.dropLast() : pattern
        guard pattern.starts(with: "*.".utf8) else { return ASCII.equalIgnoringCase(name, pattern) }
        let parent = pattern.dropFirst()
        guard parent.dropFirst().contains(UInt8(ascii: ".")), let dot = name.firstIndex(of: UInt8(ascii: ".")),
            dot > name.startIndex
        else { return false }
        return ASCII.equalIgnoringCase(name[dot...], parent)
    }

    /// Up to four names, for a message.
    var description: String {
        let shown = names.prefix(4).map { quoted(String(decoding: $0, as: UTF8.self)) }
        return shown.isEmpty ? "it contains no host name" : "its names include " + shown.joined(separator: ", ")
    }
}
