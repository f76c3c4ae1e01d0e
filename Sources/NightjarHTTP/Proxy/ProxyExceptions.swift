/// The hosts that are accessed without a proxy, in the syntax of no_proxy as curl 8 parses it.
///
/// The text `*` means all hosts. Otherwise, the text is a comma-separated list of entries:
/// - A name matches the host and its subdomains on any port. One leading and one trailing dot are ignored.
/// - An IP address matches a URL whose host is this address. Names are not resolved to compare addresses.
/// - A network, such as `10.0.0.0/8` or `fe80::/10`, matches a URL whose host is an address of the network.
///
/// Extensions to curl 8 include: spaces and tabs separate entries too (as in curl before 8.9), an IPv6 address may have
/// brackets, and `/0` matches all addresses of the same IP version.
public struct ProxyExceptions: Sendable, Equatable {
    private enum Entry: Sendable, Equatable {
        /// A name in lower case, without leading and trailing dots.
        case domain(String)
        /// The 4 or 16 bytes of an address. The first `bits` bits are compared.
        case network([UInt8], bits: Int)
    }

    private let isEverything: Bool
    private let entries: [Entry]

    public init(_ text: String) {
        isEverything = text == "*"
        entries = text.utf8.split { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            .compactMap { ProxyExceptions.entry($0) }
    }

    /// Returns true if `host` is accessed directly.
    ///
    /// - Parameter host: a host in the form of ``Origin/host``.
    public func contains(host: String) -> Bool {
        if isEverything { return true }
        if entries.isEmpty { return false }
        if let address = NumericAddress.bytes(host.utf8) {
            return entries.contains { entry in
                guard case .network(let network, let bits) = entry else { return false }
                return ProxyExceptions.matches(address, network, bits: bits)
            }
        }
        let name = host.utf8.last == UInt8(ascii: ".") ? host.utf8.dropLast() : host.utf8[...]
        return entries.contains { entry in
            guard case .domain(let domain) = entry, name.count >= domain.utf8.count else { return false }
            let (above, end) = (name.dropLast(domain.utf8.count), name.suffix(domain.utf8.count))
            return end.elementsEqual(domain.utf8) && (above.isEmpty || above.last == UInt8(ascii: "."))
        }
    }

    private static func entry(_ token: Substring.UTF8View) -> Entry? {
        let slash = token.firstIndex(of: UInt8(ascii: "/")) ?? token.endIndex
        if let network = address(token[..<slash]) {
            let most = network.count * 8
            if slash == token.endIndex { return .network(network, bits: most) }
            guard let bits = number(token[slash...].dropFirst()), bits <= most else { return nil }
            return .network(network, bits: bits)
        }
        var name = token
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        if name.first == UInt8(ascii: ".") { name.removeFirst() }
        // An international name that cannot be converted to ASCII matches no host.
        let ascii =
            name.contains { $0 >= 0x80 }
            ? try? Array(name).withUnsafeBytes { bytes in try InternationalName.ascii(bytes) }
            : String(decoding: name.map(ASCII.lowercase), as: UTF8.self)
        return ascii.flatMap { $0.isEmpty ? nil : .domain($0) }
    }

    private static func number(_ digits: Substring.UTF8View) -> Int? {
        guard (1...3).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else { return nil }
        return digits.reduce(0) { $0 * 10 + Int($1 & 0xF) }
    }

    private static func address(_ text: some Collection<UInt8>) -> [UInt8]? {
        let isBracketed = text.first == UInt8(ascii: "[") && text.suffix(1).elementsEqual("]".utf8)
        return NumericAddress.bytes(isBracketed ? text.dropFirst().dropLast() : text[...])
    }

    private static func matches(_ address: [UInt8], _ network: [UInt8], bits: Int) -> Bool {
        guard address.count == network.count else { return false }
        let (whole, rest) = bits.quotientAndRemainder(dividingBy: 8)
        guard address.prefix(whole).elementsEqual(network.prefix(whole)) else { return false }
        guard rest > 0 else { return true }
        return (address[whole] ^ network[whole]) >> UInt8(8 - rest) == 0
    }
}
