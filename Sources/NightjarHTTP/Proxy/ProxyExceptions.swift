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
        case network(IPNetwork)
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
        if let address = IPAddress(text: host.utf8) {
            return entries.contains { entry in
                guard case .network(let network) = entry else { return false }
                return network.contains(address)
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
        let address = token.prefix { $0 != UInt8(ascii: "/") }
        if IPAddress(text: address) != nil { return IPNetwork(text: token).map { .network($0) } }
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
}
