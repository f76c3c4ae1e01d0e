import NightjarHTTP

// Options that are tables of their own, where clients and calls have them alike.

extension Timeouts {
    /// Seconds for all of the call, or `{connect=, idle=, total=}`.
    mutating func read(_ value: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object = value else { return total = try value.limit(path) }
        try Timeouts.options.apply(value, at: path, to: &self)
    }

    private static let options = OptionTable<Timeouts>([
        Option(name: "connect") { value, path, timeouts throws(NightjarError) in
            timeouts.connect = try value.limit(path)
        },
        Option(name: "idle") { value, path, timeouts throws(NightjarError) in
            timeouts.idle = try value.limit(path)
        },
        Option(name: "total") { value, path, timeouts throws(NightjarError) in
            timeouts.total = try value.limit(path)
        },
    ])
}

extension RedirectSettings {
    /// Whether they are followed, how many are, or `{max=, allow_downgrade=}`.
    mutating func read(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(let flag): follows = flag
        case .object: try RedirectSettings.options.apply(value, at: path, to: &self)
        case .integer: try readMaximum(value, path)
        default: throw .mismatch(path, wanted: "true, false, a number or a table", value)
        }
    }

    private mutating func readMaximum(_ value: JSONValue, _ path: String) throws(NightjarError) {
        maximum = try value.count(path, in: 0...100)
        follows = maximum > 0
    }

    private static let options = OptionTable<RedirectSettings>([
        Option(name: "max") { value, path, settings throws(NightjarError) in
            try settings.readMaximum(value, path)
        },
        Option(name: "allow_downgrade") { value, path, settings throws(NightjarError) in
            settings.allowsDowngrade = try value.flag(path)
        },
    ])
}

extension CookieStorage {
    /// Whether cookies are kept, or by which policy: `"all"`, `"first_party"`, `"none"`.
    static func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> CookieStorage? {
        switch value {
        case .bool(false), .null, .string("none"): return nil
        case .bool(true), .string("all"): return CookieStorage()
        case .string("first_party"): return CookieStorage(.firstParty)
        default: throw .mismatch(path, wanted: "true, false, \"all\", \"first_party\" or \"none\"", value)
        }
    }
}

extension ProxySettings {
    /// Whether the environment's proxies are used, the URL of one, or `{url=, no_proxy=}`.
    mutating func read(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(true): source = .environment
        case .bool(false): source = .off
        case .string(let url): source = .address(try ProxyAddress(url))
        case .object: try ProxySettings.options.apply(value, at: path, to: &self)
        default: throw .mismatch(path, wanted: "true, false, a URL or a table", value)
        }
    }

    private static let options = OptionTable<ProxySettings>([
        Option(name: "url") { value, path, settings throws(NightjarError) in
            settings.source = .address(try ProxyAddress(value.text(path)))
        },
        Option(name: "no_proxy") { value, path, settings throws(NightjarError) in
            if case .array = value {
                settings.exceptions = try value.texts(path).joined(separator: ",")
            } else {
                settings.exceptions = try value.text(path)
            }
        },
    ])
}
