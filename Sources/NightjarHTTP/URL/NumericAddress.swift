import NightjarSystem

/// Converts IP addresses from text to bytes.
public enum NumericAddress {
    /// Returns the 4 or 16 bytes of an address in network order, or nil if `text` is not an address. IPv6 addresses are
    /// written without brackets.
    public static func bytes(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count < INET6_ADDRSTRLEN else { return nil }
        return Array(text).withUnsafeBytes { bytes -> [UInt8]? in
            var v4 = in_addr()
            if HostSyntax.parse(bytes[...], AF_INET, into: &v4) { return withUnsafeBytes(of: &v4) { Array($0) } }
            var v6 = in6_addr()
            if HostSyntax.parse(bytes[...], AF_INET6, into: &v6) { return withUnsafeBytes(of: &v6) { Array($0) } }
            return nil
        }
    }
}
