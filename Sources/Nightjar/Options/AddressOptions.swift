import NightjarHTTP
import NightjarTransport

extension TransportConfiguration {
    /// The options for the addresses of connections.
    static let addressOptions = OptionTable<TransportConfiguration>([
        Option(name: "resolve") { value, path, transport throws(NightjarError) in
            transport.resolve = value == .null ? ResolveEntries() : try ResolveEntries(value.texts(path))
        },
        Option(name: "ip_family") { value, path, transport throws(NightjarError) in
            transport.ipFamily = try IPFamily.read(value, path)
        },
        Option(name: "local_address") { value, path, transport throws(NightjarError) in
            transport.localAddress = value == .null ? nil : try IPAddress(value.text(path))
        },
        Option(name: "interface") { value, path, transport throws(NightjarError) in
            transport.interface = value == .null ? nil : try value.text(path)
        },
        Option(name: "address_filter") { value, path, transport throws(NightjarError) in
            transport.addressFilter = try AddressFilter.read(value, path)
        },
    ])
}

extension IPFamily {
    /// Reads `"ipv4"`, `"ipv6"`, or `"any"`, which is nil.
    fileprivate static func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> IPFamily? {
        let text = try value.text(path)
        if text == "any" { return nil }
        guard let family = IPFamily(rawValue: text) else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) must be \"any\", \"ipv4\" or \"ipv6\", got \(quoted(text))")
        }
        return family
    }
}

extension AddressFilter {
    /// Reads `"public"`, a table `{deny=, allow=, allow_proxies=}`, or null or false for no filter.
    fileprivate static func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> AddressFilter? {
        switch value {
        case .null, .bool(false): return nil
        case .string("public"): return .publicOnly
        case .object:
            let rules = try Rules.options.applied(value, at: path, to: Rules())
            return try AddressFilter(
                denying: rules.denied, allowing: rules.allowed, allowsProxies: rules.allowsProxies)
        default: throw .mismatch(path, expected: "\"public\", a table or false", value)
        }
    }

    private struct Rules {
        var denied = [AddressFilter.nonPublicName]
        var allowed: [String] = []
        var allowsProxies = false

        static let options = OptionTable<Rules>([
            Option(name: "deny") { value, path, rules throws(NightjarError) in rules.denied = try value.texts(path) },
            Option(name: "allow") { value, path, rules throws(NightjarError) in
                rules.allowed = try value.texts(path)
            },
            Option(name: "allow_proxies") { value, path, rules throws(NightjarError) in
                rules.allowsProxies = try value.flag(path)
            },
        ])
    }
}

extension HTTPSOnly {
    /// Reads `true`, `{except=}`, or null or false for no restriction.
    init?(option value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .null, .bool(false): return nil
        case .bool(true): self.init()
        case .object: try self.init(except: HTTPSOnly.options.applied(value, at: path, to: []))
        default: throw .mismatch(path, expected: "true, false or a table", value)
        }
    }

    private static let options = OptionTable<[String]>([
        Option(name: "except") { value, path, exceptions throws(NightjarError) in exceptions = try value.texts(path) }
    ])
}
