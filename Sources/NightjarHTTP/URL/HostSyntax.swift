#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What may stand between `//` and the port of a URL. RFC 3986 section 3.2.2, narrowed to what can be connected to: DNS
/// names, IPv4 addresses of four decimal numbers, IPv6 addresses in brackets.
enum HostSyntax {
    /// RFC 1035 section 2.3.4, in bytes, without a final dot.
    private static let maximumName = 253
    private static let maximumLabel = 63

    /// The host as it is connected to and compared: in lower case; an IPv6 address in its one shortest form (RFC 5952),
    /// without brackets.
    static func canonical(_ text: Substring.UTF8View) throws(NightjarError) -> String {
        guard let first = text.first else {
            throw NightjarError(.invalidURL, "the URL has no host; write http://host/path")
        }
        guard text.allSatisfy({ $0 < 0x80 }) else {
            throw NightjarError(
                .invalidURL,
                "the host \(quoted(Substring(text))) is not US-ASCII; internationalized names are not converted, write its xn-- form"
            )
        }
        if first == UInt8(ascii: "[") { return try canonicalIPv6(text) }
        if endsInNumber(text) { return try canonicalIPv4(text) }
        try checkName(text)
        return String(decoding: text.map(ASCII.lowercase), as: UTF8.self)
    }

    private static func canonicalIPv6(_ text: Substring.UTF8View) throws(NightjarError) -> String {
        var address = in6_addr()
        let inside = text.dropFirst().dropLast()
        guard text.last == UInt8(ascii: "]"), inside.allSatisfy({ $0 != 0 }),
            inet_pton(AF_INET6, String(Substring(inside)), &address) == 1
        else {
            throw NightjarError(
                .invalidURL, "the host \(quoted(Substring(text))) is not an IPv6 address in brackets, like [::1]")
        }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &address, &text, socklen_t(text.count)) != nil else {
            return String(Substring(inside)).lowercased()
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Resolvers read 127.1, 0x7f000001 and 2130706433 as 127.0.0.1, and a check of the name does not see it; so what ends
    /// like a number must be an address in full.
    private static func endsInNumber(_ text: Substring.UTF8View) -> Bool {
        let name = text.last == UInt8(ascii: ".") ? text.dropLast() : text
        let label = name.suffix(while: { $0 != UInt8(ascii: ".") })
        if label.allSatisfy(ASCII.isDigit) { return !label.isEmpty }
        let prefix = label.prefix(2).map(ASCII.lowercase)
        return prefix.elementsEqual("0x".utf8) && label.dropFirst(2).allSatisfy { ASCII.hexValue($0) != nil }
    }

    private static func canonicalIPv4(_ text: Substring.UTF8View) throws(NightjarError) -> String {
        var address = in_addr()
        guard text.allSatisfy({ $0 != 0 }), inet_pton(AF_INET, String(Substring(text)), &address) == 1 else {
            throw NightjarError(
                .invalidURL,
                "the host \(quoted(Substring(text))) ends in a number and is not an IPv4 address of four, like 127.0.0.1")
        }
        return String(Substring(text))
    }

    private static func checkName(_ text: Substring.UTF8View) throws(NightjarError) {
        let name = text.last == UInt8(ascii: ".") ? text.dropLast() : text
        if let byte = name.first(where: { !PercentEncoding.unreserved.contains($0) && $0 != UInt8(ascii: ".") }) {
            let offender = quoted(String(decoding: CollectionOfOne(byte), as: UTF8.self))
            throw NightjarError(.invalidURL, "\(offender) is not allowed in a host name")
        }
        let labels = name.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard name.count <= maximumName, labels.allSatisfy({ (1...maximumLabel).contains($0.count) }) else {
            throw NightjarError(
                .invalidURL,
                "the host \(quoted(Substring(text))) has an empty label, or one over \(maximumLabel) or in all over \(maximumName) bytes"
            )
        }
    }
}

extension BidirectionalCollection {
    /// The longest end of the collection whose elements all satisfy `predicate`.
    fileprivate func suffix(while predicate: (Element) -> Bool) -> SubSequence {
        self[(lastIndex { !predicate($0) }.map(index(after:)) ?? startIndex)...]
    }
}
