import NightjarHTTP

// The cache options of clients and calls.

extension Configuration {
    /// Reads the option `cache`: `true` for a memory cache of 20 MiB, `false` for none, or a table `{memory=, disk=,
    /// path=, policy=, login_cookies=}`. `memory` and `disk` are sizes in bytes, or `false` to disable that part.
    mutating func readCache(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(false), .null: (cache, cacheSettings) = (nil, nil)
        case .bool(true): (cache, cacheSettings) = (nil, CacheStorage.Settings())
        case .object:
            var choice = CacheChoice()
            try CacheChoice.options.apply(value, at: path, to: &choice)
            guard choice.settings.disk != nil || choice.settings.folder == nil else {
                throw NightjarError(
                    .invalidArgument,
                    "option \(quoted(path + ".path")) names a folder but there is no disk limit; set the option disk")
            }
            (cache, cacheSettings) = (nil, choice.settings)
            cachePolicy = choice.policy ?? cachePolicy
            loginCookies = choice.loginCookies ?? loginCookies
        default: throw .mismatch(path, expected: "true, false or a table", value)
        }
    }
}

private struct CacheChoice {
    var settings = CacheStorage.Settings()
    var policy: CachePolicy?
    var loginCookies: LoginCookies?

    static let options = OptionTable<CacheChoice>([
        Option(name: "memory") { value, path, choice throws(NightjarError) in
            if case .bool(false) = value { return choice.settings.memory = 0 }
            choice.settings.memory = try value.size(path)
        },
        Option(name: "disk") { value, path, choice throws(NightjarError) in
            if case .bool(false) = value { return choice.settings.disk = nil }
            choice.settings.disk = try value.size(path)
        },
        Option(name: "path") { value, path, choice throws(NightjarError) in
            choice.settings.folder = try value.text(path)
        },
        Option(name: "policy") { value, path, choice throws(NightjarError) in
            choice.policy = try CachePolicy(option: value, path)
        },
        Option(name: "login_cookies") { value, path, choice throws(NightjarError) in
            choice.loginCookies = LoginCookies(names: value == .object([]) ? [] : try value.texts(path))
        },
    ])
}

extension CachePolicy {
    init(option value: JSONValue, _ path: String) throws(NightjarError) {
        let name = try value.text(path)
        guard let policy = CachePolicy(rawValue: name) else {
            let names = CachePolicy.allCases.map(\.rawValue)
            let hint = nearestName(to: name, among: names).map { "; did you mean \(quoted($0))?" } ?? ""
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) is \(quoted(name)); it must be one of \(names.joined(separator: ", "))\(hint)")
        }
        self = policy
    }
}

extension Request {
    /// Reads the name of the call's cache policy. `false` bypasses the cache; `true` uses the client's policy.
    mutating func readCache(_ value: JSONValue, _ path: String) throws(NightjarError) {
        if case .bool(let flag) = value {
            (usesCache, cachePolicy) = (flag, nil)
        } else {
            (usesCache, cachePolicy) = (true, try CachePolicy(option: value, path))
        }
    }
}
