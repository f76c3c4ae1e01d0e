import NightjarSystem

/// Parses the host of a URL. RFC 3986 section 3.2.2, restricted to DNS names (also internationalized), IPv4 addresses
/// of four decimal numbers, and IPv6 addresses in brackets.
enum HostSyntax {
    /// The maximum length of a name in bytes, without a final dot. RFC 1035 section 2.3.4.
    private static let maximumName = 253
    /// The maximum length of a label in bytes. RFC 1035 section 2.3.4.
    private static let maximumLabel = 63

    /// Returns the host in canonical form, which is used to connect and to compare. Names are in lower case. IPv6
    /// addresses are in their shortest form (RFC 5952), without brackets.
    static func canonical(_ text: UnsafeRawBufferPointer) throws(NightjarError) -> String {
        guard let first = text.first else {
            throw NightjarError(.invalidURL, "the URL has no host; add one, as in http://host")
        }
        if first == UInt8(ascii: "[") { return try canonicalIPv6(text) }
        guard text.contains(where: { $0 >= 0x80 }) else { return try canonicalASCII(text) }
        return try InternationalName.ascii(text).withRawBytes { name throws(NightjarError) in try canonicalASCII(name) }
    }

    private static func canonicalASCII(_ text: UnsafeRawBufferPointer) throws(NightjarError) -> String {
        let name = text.last == UInt8(ascii: ".") ? text.dropLast() : text[...]
        try checkName(name)
        if endsInNumber(name) { try checkIPv4(text) }
        return String(unsafeUninitializedCapacity: text.count) { buffer in
            for (position, byte) in text.enumerated() { buffer[position] = ASCII.lowercase(byte) }
            return text.count
        }
    }

    private static func canonicalIPv6(_ text: UnsafeRawBufferPointer) throws(NightjarError) -> String {
        var address = in6_addr()
        let inside = text.dropFirst().dropLast()
        guard text.last == UInt8(ascii: "]"), inside.count < INET6_ADDRSTRLEN, parse(inside, AF_INET6, into: &address)
        else {
            throw NightjarError(.invalidURL, "the host \(quoted(text)) is not an IPv6 address in brackets, like [::1]")
        }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let start = buffer.baseAddress, inet_ntop(AF_INET6, &address, start, socklen_t(buffer.count)) != nil
            else { return String(decoding: inside.map(ASCII.lowercase), as: UTF8.self) }
            return String(cString: start)
        }
    }

    /// Returns true if the last label is a number. Such a host must be a complete IPv4 address. Resolvers read 127.1,
    /// 0x7f000001 and 2130706433 as 127.0.0.1, but rules that compare host names would not match them.
    private static func endsInNumber(_ name: Slice<UnsafeRawBufferPointer>) -> Bool {
        let start = name.lastIndex(of: UInt8(ascii: ".")).map { $0 + 1 } ?? name.startIndex
        let label = name[start...]
        if label.allSatisfy(ASCII.isDigit) { return !label.isEmpty }
        return label.first == UInt8(ascii: "0") && label.dropFirst().first.map(ASCII.lowercase) == UInt8(ascii: "x")
            && label.dropFirst(2).allSatisfy { ASCII.hexValue($0) != nil }
    }

    private static func checkIPv4(_ text: UnsafeRawBufferPointer) throws(NightjarError) {
        var address = in_addr()
        guard text.count < INET_ADDRSTRLEN, parse(text[...], AF_INET, into: &address) else {
            throw NightjarError(
                .invalidURL,
                "the host \(quoted(text)) ends in a number but is not an IPv4 address of four decimal numbers like "
                    + "127.0.0.1"
            )
        }
    }

    /// Parses a numeric address of `family` (`AF_INET` or `AF_INET6`).
    static func parse<Address>(
        _ text: Slice<UnsafeRawBufferPointer>, _ family: CInt, into address: inout Address
    ) -> Bool {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: text.count + 1) { copy in
            for (position, byte) in text.enumerated() { copy[position] = CChar(bitPattern: byte) }
            copy[text.count] = 0
            guard let start = copy.baseAddress else { return false }
            return withUnsafeMutableBytes(of: &address) { inet_pton(family, start, $0.baseAddress) == 1 }
        }
    }

    /// Checks the characters and lengths of a host name.
    ///
    /// - Parameter name: the host name without a final dot.
    private static func checkName(_ name: Slice<UnsafeRawBufferPointer>) throws(NightjarError) {
        var label = 0
        var hasBadLabel = false
        for byte in name {
            if byte == UInt8(ascii: ".") {
                hasBadLabel = hasBadLabel || label == 0
                label = 0
                continue
            }
            guard PercentEncoding.unreserved.contains(byte) else { throw notAllowed(byte) }
            label += 1
            hasBadLabel = hasBadLabel || label > maximumLabel
        }
        guard name.count <= maximumName, label > 0, !hasBadLabel else {
            let host = quoted(UnsafeRawBufferPointer(rebasing: name))
            throw NightjarError(
                .invalidURL,
                "the host \(host) has an empty label, a label over \(maximumLabel) bytes, or over \(maximumName) "
                    + "bytes in total"
            )
        }
    }

    private static func notAllowed(_ byte: UInt8) -> NightjarError {
        let invalidByte = quoted(String(decoding: CollectionOfOne(byte), as: UTF8.self))
        return NightjarError(.invalidURL, "\(invalidByte) is not allowed in a host name")
    }
}
