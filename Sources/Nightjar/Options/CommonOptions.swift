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
