/// The addresses to which a client may connect. Protects programs that fetch untrusted URLs, for example for webhooks
/// and previews, against requests to internal servers (server-side request forgery).
///
/// An address is denied if a rule of the deny list matches, unless a rule of the allow list matches. The IPv4 address in an
/// IPv6 address (IPv4-mapped, IPv4-compatible, IPv4-translated, NAT64, 6to4, Teredo, ISATAP) is checked, too.
public struct AddressFilter: Hashable, Sendable {
    /// A rule: a class of addresses, or a network.
    private enum Rule: Hashable {
        case category(AddressClass)
        /// All classes.
        case nonPublic
        case network(IPNetwork)

        init(_ text: String) throws(NightjarError) {
            if text == AddressFilter.nonPublicName {
                self = .nonPublic
            } else if let category = AddressClass(rawValue: text) {
                self = .category(category)
            } else if let network = IPNetwork(text: text.utf8) {
                self = .network(network)
            } else {
                let names = [AddressFilter.nonPublicName] + AddressClass.allCases.map(\.rawValue)
                let hint = nearestName(to: text, among: names).map { "; did you mean \(quoted($0))?" }
                throw NightjarError(
                    .invalidArgument,
                    "the address filter rule \(quoted(text)) is neither a class of addresses nor a network"
                        + (hint ?? "; the classes are \(names.joined(separator: ", ")), and a network is written as "
                            + "\"10.0.0.0/8\""))
            }
        }

        /// Returns the class or the network to which the address belongs, or nil.
        func match(_ address: IPAddress, _ category: AddressClass?) -> String? {
            switch self {
            case .category(let expected): category == expected ? expected.rawValue : nil
            case .nonPublic: category?.rawValue
            case .network(let network): network.contains(address) ? network.description : nil
            }
        }
    }

    private let denied: [Rule]
    private let allowed: [Rule]
    /// Whether requests to host names may go through a proxy that resolves the name itself (http, https and socks5h), so
    /// that the client cannot check the address. If false, such requests fail with `invalid_request`.
    public var allowsProxies: Bool

    /// Denies all addresses that are not public.
    public static let publicOnly = AddressFilter(denied: [.nonPublic], allowed: [], allowsProxies: false)

    /// Denies no address.
    package static let unrestricted = AddressFilter(denied: [], allowed: [], allowsProxies: false)

    private init(denied: [Rule], allowed: [Rule], allowsProxies: Bool) {
        self.denied = denied
        self.allowed = allowed
        self.allowsProxies = allowsProxies
    }

    /// Creates a filter from rules. A rule is a network such as `10.0.0.0/8`, a single address, or a class: `private`,
    /// `loopback`, `link_local`, `shared`, `unspecified`, `multicast`, `documentation`, `reserved`, or `non_public` for
    /// all of them.
    ///
    /// - Throws: `invalid_argument` if a rule is invalid.
    public init(
        denying denied: [String] = [nonPublicName], allowing allowed: [String] = [], allowsProxies: Bool = false
    ) throws(NightjarError) {
        self.init(
            denied: try denied.map { rule throws(NightjarError) in try Rule(rule) },
            allowed: try allowed.map { rule throws(NightjarError) in try Rule(rule) }, allowsProxies: allowsProxies)
    }

    /// The rule for all classes of addresses that are not public.
    public static let nonPublicName = "non_public"

    /// Returns the class or the network for which an address is denied; nil: the address is allowed.
    package func denial(of address: IPAddress) -> String? {
        for form in EmbeddedAddress.forms(of: address) {
            let category = AddressClass(of: form)
            guard let reason = denied.lazy.compactMap({ $0.match(form, category) }).first,
                !allowed.contains(where: { $0.match(form, category) != nil })
            else { continue }
            return form == address ? reason : "\(reason), by an embedded IPv4 address"
        }
        return nil
    }
}

/// A class of addresses that are not public. RFC 6890 and the IANA special-purpose address registries.
enum AddressClass: String, CaseIterable {
    /// RFC 1918, unique local addresses (RFC 4193) and site-local addresses (RFC 3879).
    case `private`
    case loopback
    /// RFC 3927 and RFC 4291 section 2.5.6. The metadata services of clouds have such addresses.
    case linkLocal = "link_local"
    /// Carrier-grade NAT, RFC 6598.
    case shared
    /// This network (RFC 1122 section 3.2.1.3) and the unspecified address (RFC 4291 section 2.5.2).
    case unspecified
    case multicast
    case documentation
    /// All other addresses that are not global unicast addresses, also those for protocols and benchmarks, and broadcast.
    case reserved

    /// Creates the class of an address. Nil for a public address.
    init?(of address: IPAddress) {
        let table = address.family == .ipv4 ? AddressClass.ipv4 : AddressClass.ipv6
        if let (_, category) = table.first(where: { $0.network.contains(address) }) {
            guard let category else { return nil }
            self = category
        } else if address.family == .ipv6, !AddressClass.globalUnicast.contains(address) {
            self = .reserved
        } else {
            return nil
        }
    }

    private typealias Row = (network: IPNetwork, category: AddressClass?)

    /// The first matching row applies.
    private static let ipv4: [Row] = [
        (IPNetwork(v4: 0x0000_0000, bits: 8), .unspecified),
        (IPNetwork(v4: 0x0A00_0000, bits: 8), .private),
        (IPNetwork(v4: 0x6440_0000, bits: 10), .shared),
        (IPNetwork(v4: 0x7F00_0000, bits: 8), .loopback),
        (IPNetwork(v4: 0xA9FE_0000, bits: 16), .linkLocal),
        (IPNetwork(v4: 0xAC10_0000, bits: 12), .private),
        (IPNetwork(v4: 0xC000_0000, bits: 24), .reserved),  // protocol assignments, RFC 6890
        (IPNetwork(v4: 0xC000_0200, bits: 24), .documentation),  // RFC 5737
        (IPNetwork(v4: 0xC058_6300, bits: 24), .reserved),  // 6to4 relays, RFC 7526
        (IPNetwork(v4: 0xC0A8_0000, bits: 16), .private),
        (IPNetwork(v4: 0xC612_0000, bits: 15), .reserved),  // benchmarks, RFC 2544
        (IPNetwork(v4: 0xC633_6400, bits: 24), .documentation),
        (IPNetwork(v4: 0xCB00_7100, bits: 24), .documentation),
        (IPNetwork(v4: 0xE000_0000, bits: 4), .multicast),
        (IPNetwork(v4: 0xF000_0000, bits: 4), .reserved),
    ]

    private static let ipv6: [Row] = [
        (IPNetwork(v6: [], bits: 128), .unspecified),
        (IPNetwork(v6: [0, 0, 0, 0, 0, 0, 0, 1], bits: 128), .loopback),
        (IPNetwork(v6: [0x64, 0xFF9B], bits: 96), nil),  // NAT64, RFC 6052: the embedded address decides
        (IPNetwork(v6: [0x2001], bits: 23), .reserved),  // protocol assignments and Teredo, RFC 2928
        (IPNetwork(v6: [0x2001, 0xDB8], bits: 32), .documentation),  // RFC 3849
        (IPNetwork(v6: [0x3FFF], bits: 20), .documentation),  // RFC 9637
        (IPNetwork(v6: [0xFC00], bits: 7), .private),
        (IPNetwork(v6: [0xFE80], bits: 10), .linkLocal),
        (IPNetwork(v6: [0xFEC0], bits: 10), .private),
        (IPNetwork(v6: [0xFF00], bits: 8), .multicast),
    ]

    /// RFC 4291 section 2.4 and the IANA IPv6 address space.
    private static let globalUnicast = IPNetwork(v6: [0x2000], bits: 3)
}

/// The IPv4 addresses in IPv6 addresses, to which packets may be delivered.
enum EmbeddedAddress {
    /// Returns the address itself, unless it is only another form of an IPv4 address, and the IPv4 addresses in it.
    static func forms(of address: IPAddress) -> [IPAddress] {
        guard address.family == .ipv6 else { return [address] }
        let low = IPAddress(v4: UInt32(truncatingIfNeeded: address.value))
        if mapped.contains(address) { return [low] }
        if sixToFour.contains(address) {
            return [address, IPAddress(v4: UInt32(truncatingIfNeeded: address.value >> 80))]
        }
        if teredo.contains(address) {
            return [
                address, IPAddress(v4: UInt32(truncatingIfNeeded: address.value >> 64)),
                IPAddress(v4: ~UInt32(truncatingIfNeeded: address.value)),
            ]
        }
        if localNAT64.contains(address) { return [address] + localNAT64Forms(of: address.value) }
        let isEmbedded = inLowBits.contains { $0.contains(address) } && address.value > 1
        // ISATAP, RFC 5214 section 6.1. One bit means that the IPv4 address is unique.
        let isISATAP = UInt32(truncatingIfNeeded: address.value >> 32) & 0xFDFF_FFFF == 0x5EFE
        return isEmbedded || isISATAP ? [address, low] : [address]
    }

    /// RFC 4291 section 2.5.5.2.
    private static let mapped = IPNetwork(v6: [0, 0, 0, 0, 0, 0xFFFF], bits: 96)
    /// RFC 3056.
    private static let sixToFour = IPNetwork(v6: [0x2002], bits: 16)
    /// RFC 4380: the address of the server, and the inverted address of the client.
    private static let teredo = IPNetwork(v6: [0x2001, 0], bits: 32)
    /// NAT64 in a local network, RFC 8215. The length of the prefix is not known.
    private static let localNAT64 = IPNetwork(v6: [0x64, 0xFF9B, 1], bits: 48)

    /// Returns the IPv4 address for each length of the prefix, without those of 0.0.0.0/8, to which nothing is delivered.
    /// RFC 6052 section 2.2: the bits 64 to 71 are skipped.
    private static func localNAT64Forms(of value: UInt128) -> [IPAddress] {
        let low: UInt128 = value & ((1 << 56) - 1)
        let compact = ((value >> 64) << 56) | low
        let forms = [48, 56, 64].map { UInt32(truncatingIfNeeded: compact >> UInt128(120 - 32 - $0)) }
        return (forms + [UInt32(truncatingIfNeeded: value)]).filter { $0 >> 24 != 0 }.map { IPAddress(v4: $0) }
    }

    private static let inLowBits = [
        IPNetwork(v6: [], bits: 96),  // IPv4-compatible, RFC 4291 section 2.5.5.1
        IPNetwork(v6: [0, 0, 0, 0, 0xFFFF], bits: 96),  // IPv4-translated, RFC 2765
        IPNetwork(v6: [0x64, 0xFF9B], bits: 96),  // NAT64, RFC 6052
    ]
}
