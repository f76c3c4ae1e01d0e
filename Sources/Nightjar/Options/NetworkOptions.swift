import NightjarHTTP
import NightjarTesting

extension NetworkProfile {
    /// Reads a profile name, or `{profile=, latency=, jitter=, down=, up=, loss=, offline=, seed=}`. Explicit values
    /// override the values of the profile.
    init(option value: JSONValue, _ path: String) throws(NightjarError) {
        self.init()
        guard case .object = value else {
            self = try NetworkProfile.named(option: value, path)
            return
        }
        // The profile is applied first, independent of the order of the members.
        if let profile = value["profile"] { self = try NetworkProfile.named(option: profile, path + ".profile") }
        try NetworkProfile.options.apply(value, at: path, to: &self)
    }

    /// Creates the predefined profile of this name.
    ///
    /// - Throws: `invalid_argument` for an unknown name.
    public init(_ name: String) throws(NightjarError) {
        self = try NetworkProfile.named(option: .string(name), "network")
    }

    private static func named(option value: JSONValue, _ path: String) throws(NightjarError) -> NetworkProfile {
        guard case .string(let name) = value else {
            throw .mismatch(path, expected: "the name of a network profile or a table", value)
        }
        guard let profile = NetworkProfile.named(name) else {
            let hint = nearestName(to: name, among: names).map { "; did you mean \(quoted($0))?" }
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) is \(quoted(name)), which is not a known network profile"
                    + (hint ?? "; the known profiles are \(names.joined(separator: ", "))"))
        }
        return profile
    }

    private static let options = OptionTable<NetworkProfile>([
        Option(name: "profile") { _, _, _ throws(NightjarError) in },
        Option(name: "latency") { value, path, profile throws(NightjarError) in
            profile.latency = try value.duration(path)
        },
        Option(name: "jitter") { value, path, profile throws(NightjarError) in
            profile.jitter = try value.duration(path)
        },
        Option(name: "down") { value, path, profile throws(NightjarError) in
            profile.down = try value.rate(path)
        },
        Option(name: "up") { value, path, profile throws(NightjarError) in
            profile.up = try value.rate(path)
        },
        Option(name: "loss") { value, path, profile throws(NightjarError) in
            let share: Double
            switch value {
            case .integer(let number): share = Double(number)
            case .number(let number): share = number
            default: throw .mismatch(path, expected: "a number", value)
            }
            guard (0...1).contains(share) else {
                throw NightjarError(.invalidArgument, "option \(quoted(path)) must be between 0 and 1, got \(share)")
            }
            profile.loss = share
        },
        Option(name: "offline") { value, path, profile throws(NightjarError) in
            profile.isOffline = try value.flag(path)
        },
        Option(name: "seed") { value, path, profile throws(NightjarError) in
            profile.seed = UInt64(try value.count(path, in: 0...Int.max))
        },
    ])
}

extension JSONValue {
    /// Reads a rate in bytes per second; null: unlimited.
    fileprivate func rate(_ path: String) throws(NightjarError) -> Int? {
        if case .null = self { return nil }
        let size = try size(path)
        guard size > 0 else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) must be greater than 0, got \(size); for no network, set \"offline\"")
        }
        return size
    }
}
