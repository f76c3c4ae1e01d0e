import NightjarSystem

/// A version of the Internet Protocol.
public enum IPFamily: String, Hashable, Sendable {
    case ipv4
    case ipv6

    /// The name in messages: `IPv4` or `IPv6`.
    package var name: String {
        switch self {
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        }
    }

    /// The number of bits of an address.
    var bits: Int {
        switch self {
        case .ipv4: 32
        case .ipv6: 128
        }
    }
}

/// An IPv4 or IPv6 address.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    public let family: IPFamily
    /// The address as a number. An IPv4 address has 32 bits.
    let value: UInt128

    /// Reads an address such as `192.0.2.1` or `2001:db8::1`. An IPv6 address may be in brackets.
    ///
    /// - Throws: `invalid_argument` if `text` is not an address.
    public init(_ text: String) throws(NightjarError) {
        guard let address = IPAddress(text: text.utf8) else {
            throw NightjarError(
                .invalidArgument,
                "\(quoted(text)) is not an IP address; write an address such as \"192.0.2.1\" or \"2001:db8::1\"")
        }
        self = address
    }

    /// Returns nil if `text` is not an address.
    init?(text: some Collection<UInt8>) {
        let isBracketed = text.first == UInt8(ascii: "[") && text.suffix(1).elementsEqual("]".utf8)
        let bytes = isBracketed ? NumericAddress.bytes(text.dropFirst().dropLast()) : NumericAddress.bytes(text)
        guard let bytes, !isBracketed || bytes.count == 16 else { return nil }
        self.init(bytes: bytes)
    }

    /// - Parameter bytes: 4 or 16 bytes in network order.
    package init(bytes: some Collection<UInt8>) {
        family = bytes.count == 4 ? .ipv4 : .ipv6
        value = bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }

    init(v4 value: UInt32) {
        family = .ipv4
        self.value = UInt128(value)
    }

    /// The 4 or 16 bytes in network order.
    package var bytes: [UInt8] {
        stride(from: family.bits - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt128($0)) }
    }

    /// The shortest form (RFC 5952), without brackets.
    public var description: String {
        let bytes = bytes
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
            guard let start = text.baseAddress,
                inet_ntop(family == .ipv4 ? AF_INET : AF_INET6, bytes, start, socklen_t(text.count)) != nil
            else { return "" }
            return String(cString: start)
        }
    }
}

/// The addresses with a common prefix, such as `10.0.0.0/8`.
package struct IPNetwork: Hashable, Sendable, CustomStringConvertible {
    /// The first address.
    let address: IPAddress
    /// The number of bits that all addresses have in common.
    let bits: Int

    /// Reads a network in CIDR notation (RFC 4632 section 3.1), or a single address. The bits after the prefix are
    /// ignored.
    ///
    /// - Throws: `invalid_argument` if `text` is not a network.
    package init(_ text: String) throws(NightjarError) {
        guard let network = IPNetwork(text: text.utf8) else {
            throw NightjarError(
                .invalidArgument,
                "\(quoted(text)) is not a network; write a network such as \"192.0.2.0/24\" or \"2001:db8::/32\"")
        }
        self = network
    }

    /// Returns nil if `text` is not a network.
    init?(text: some BidirectionalCollection<UInt8>) {
        let slash = text.firstIndex(of: UInt8(ascii: "/"))
        guard let address = IPAddress(text: text[..<(slash ?? text.endIndex)]) else { return nil }
        guard let slash else {
            self.init(address, bits: address.family.bits)
            return
        }
        let digits = text[text.index(after: slash)...]
        guard (1...3).contains(digits.count), digits.allSatisfy(ASCII.isDigit) else { return nil }
        let bits = digits.reduce(0) { $0 * 10 + Int($1 & 0xF) }
        guard bits <= address.family.bits else { return nil }
        self.init(address, bits: bits)
    }

    init(_ address: IPAddress, bits: Int) {
        self.address = address
        self.bits = bits
    }

    init(v4 value: UInt32, bits: Int) { self.init(IPAddress(v4: value), bits: bits) }

    /// - Parameter groups: The first groups of 16 bits of an IPv6 address. The others are 0.
    init(v6 groups: [UInt16], bits: Int) {
        let bytes = (0..<8).flatMap { index -> [UInt8] in
            let group = index < groups.count ? groups[index] : 0
            return [UInt8(group >> 8), UInt8(truncatingIfNeeded: group)]
        }
        self.init(IPAddress(bytes: bytes), bits: bits)
    }

    func contains(_ address: IPAddress) -> Bool {
        guard address.family == self.address.family else { return false }
        return (address.value ^ self.address.value) >> UInt128(address.family.bits - bits) == 0
    }

    package var description: String { "\(address)/\(bits)" }
}
