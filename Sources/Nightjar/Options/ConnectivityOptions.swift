import NightjarHTTP

extension ConnectivitySettings {
    static let options = OptionTable<ConnectivitySettings>([
        Option(name: "wait_for_connectivity") { value, path, settings throws(NightjarError) in
            settings.maximumWait = try value.connectivityWait(path)
        },
        Option(name: "allow_metered") { value, path, settings throws(NightjarError) in
            settings.allowsMetered = try value.flag(path)
        },
        Option(name: "allow_constrained") { value, path, settings throws(NightjarError) in
            settings.allowsConstrained = try value.flag(path)
        },
    ])
}

extension ConnectivityChanges {
    static let options = OptionTable<ConnectivityChanges>([
        Option(name: "wait_for_connectivity") { value, path, changes throws(NightjarError) in
            changes.maximumWait = try value.connectivityWait(path)
        },
        Option(name: "allow_metered") { value, path, changes throws(NightjarError) in
            changes.allowsMetered = try value.flag(path)
        },
        Option(name: "allow_constrained") { value, path, changes throws(NightjarError) in
            changes.allowsConstrained = try value.flag(path)
        },
    ])
}

extension JSONValue {
    /// Reads a number of seconds; false: zero.
    fileprivate func connectivityWait(_ path: String) throws(NightjarError) -> Duration {
        if case .bool(false) = self { return .zero }
        return try duration(path)
    }
}
