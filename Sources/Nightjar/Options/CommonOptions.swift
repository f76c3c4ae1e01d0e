import NightjarHTTP

// Option tables that clients and calls share.

extension Headers {
    /// Reads `{ name = value, ... }`. Each value replaces all fields of that name.
    mutating func read(_ value: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object(let fields) = value else { throw .mismatch(path, expected: "a table of strings", value) }
        for field in fields { try set(field.name, field.value.text("\(path).\(field.name)")) }
    }
}

extension Timeouts {
    /// Reads the total timeout in seconds, or `{connect=, idle=, total=}`. 0 and false mean unlimited; null means not
    /// set.
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
    /// Reads `true` or `false`, the maximum number of redirects, or `{max=, allow_downgrade=}`.
    mutating func read(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(let flag): follows = flag
        case .object: try RedirectSettings.options.apply(value, at: path, to: &self)
        case .integer: try readMaximum(value, path)
        default: throw .mismatch(path, expected: "true, false, a number or a table", value)
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

extension Configuration {
    /// Reads `true` or `false`, a policy (`"all"`, `"first_party"`, `"none"`), or `{file=, policy=, keep_session=}`.
    mutating func readCookies(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(let flag): keepCookies(flag ? .all : .none, in: nil)
        case .null: keepCookies(.none, in: nil)
        case .object:
            var choice = CookieChoice()
            try CookieChoice.options.apply(value, at: path, to: &choice)
            keepCookies(choice.policy, in: choice)
        default:
            guard let policy = CookiePolicy(option: value) else {
                throw .mismatch(path, expected: "true, false, \"all\", \"first_party\", \"none\" or a table", value)
            }
            keepCookies(policy, in: nil)
        }
    }

    private mutating func keepCookies(_ policy: CookiePolicy, in choice: CookieChoice?) {
        (cookies, cookieFile) = (nil, nil)
        guard policy != .none else { return }
        if let file = choice?.file {
            cookieFile = CookieFile(file, policy: policy, keepsSession: choice?.keepsSession ?? false)
        } else {
            cookies = CookieStorage(policy)
        }
    }
}

private struct CookieChoice {
    var file: String?
    var policy = CookiePolicy.all
    var keepsSession = false

    static let options = OptionTable<CookieChoice>([
        Option(name: "file") { value, path, choice throws(NightjarError) in
            choice.file = try value.text(path)
        },
        Option(name: "policy") { value, path, choice throws(NightjarError) in
            guard let policy = CookiePolicy(option: value) else {
                throw .mismatch(path, expected: "\"all\", \"first_party\" or \"none\"", value)
            }
            choice.policy = policy
        },
        Option(name: "keep_session") { value, path, choice throws(NightjarError) in
            choice.keepsSession = try value.flag(path)
        },
    ])
}

extension CookiePolicy {
    fileprivate init?(option: JSONValue) {
        switch option {
        case .string("all"): self = .all
        case .string("first_party"): self = .firstParty
        case .string("none"): self = .none
        default: return nil
        }
    }
}

extension ProxySettings {
    /// Reads `true` for the proxies of the environment, `false` for none, the URL of a proxy, or `{url=, no_proxy=}`.
    mutating func read(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(true): source = .environment
        case .bool(false): source = .off
        case .string(let url): source = .address(try ProxyAddress(url))
        case .object: try ProxySettings.options.apply(value, at: path, to: &self)
        default: throw .mismatch(path, expected: "true, false, a URL or a table", value)
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
