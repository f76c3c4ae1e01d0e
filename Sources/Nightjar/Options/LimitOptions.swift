import NightjarHTTP

/// The limits of an origin or a group: `rate_limit`, `concurrency`, `circuit_breaker`, `max_queued`.
extension LimitSettings {
    static let options = OptionTable<LimitSettings>([
        Option(name: "rate_limit") { value, path, settings throws(NightjarError) in
            try settings.readRate(value, path)
        },
        Option(name: "concurrency") { value, path, settings throws(NightjarError) in
            if case .null = value { return settings.concurrency = nil }
            settings.concurrency = try value.count(path, in: 1...1_000_000)
        },
        Option(name: "circuit_breaker") { value, path, settings throws(NightjarError) in
            switch value {
            case .bool(let flag): settings.breaker = flag ? CircuitBreaker.Settings() : nil
            case .object:
                settings.breaker = try CircuitBreaker.Settings.options.applied(
                    value, at: path, to: settings.breaker ?? CircuitBreaker.Settings())
            default: throw .mismatch(path, expected: "true, false or a table", value)
            }
        },
        Option(name: "max_queued") { value, path, settings throws(NightjarError) in
            settings.maximumQueued = try value.count(path, in: 0...10_000_000)
        },
    ])

    /// Reads the option `rate_limit`. `true` follows the rate limit fields of responses. A table `{requests=, per=,
    /// burst=}` also sets a rate.
    private mutating func readRate(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(let flag): (rate, adaptsToServer) = (nil, flag)
        case .object:
            let choice = try RateChoice.options.applied(value, at: path, to: RateChoice())
            guard let rate = RateLimiter.Rate(count: choice.requests ?? 0, per: choice.period, burst: choice.burst)
            else {
                throw NightjarError(
                    .invalidArgument,
                    "option \(quoted(path)) must contain \"requests\", and its \"per\" must be greater than 0 seconds "
                        + "(default: 1)")
            }
            (self.rate, adaptsToServer) = (rate, true)
        default: throw .mismatch(path, expected: "true, false or a table", value)
        }
    }
}

private struct RateChoice {
    var requests: Int?
    var period = Duration.seconds(1)
    var burst: Int?

    static let options = OptionTable<RateChoice>([
        Option(name: "requests") { value, path, choice throws(NightjarError) in
            choice.requests = try value.count(path, in: 1...1_000_000_000)
        },
        Option(name: "per") { value, path, choice throws(NightjarError) in choice.period = try value.duration(path) },
        Option(name: "burst") { value, path, choice throws(NightjarError) in
            choice.burst = try value.count(path, in: 1...1_000_000_000)
        },
    ])
}

extension CircuitBreaker.Settings {
    fileprivate static let options = OptionTable<CircuitBreaker.Settings>([
        Option(name: "failure_rate") { value, path, settings throws(NightjarError) in
            settings.failureRate = try value.share(path)
        },
        Option(name: "minimum_calls") { value, path, settings throws(NightjarError) in
            settings.minimumCalls = try value.count(path, in: 1...1_000_000)
        },
        Option(name: "window") { value, path, settings throws(NightjarError) in
            settings.window = try value.duration(path)
            guard settings.window > .zero else {
                throw NightjarError(
                    .invalidArgument, "option \(quoted(path)) must be greater than 0 seconds, got 0")
            }
        },
        Option(name: "open_duration") { value, path, settings throws(NightjarError) in
            settings.openDuration = try value.duration(path)
        },
    ])
}

extension Configuration {
    /// - Throws: `invalid_argument` if ``pauseHeader`` is not the name of a header field.
    package func checkPauseHeader() throws(NightjarError) {
        guard let pauseHeader, PauseHeader(pauseHeader) == nil else { return }
        throw NightjarError(
            .invalidArgument, "pause_header must be the name of a header field, got \(quoted(pauseHeader))")
    }

    /// Reads `{name = {rate_limit=, concurrency=, ...}, ...}`.
    mutating func readLimitGroups(_ value: JSONValue, _ path: String) throws(NightjarError) {
        guard case .object(let members) = value else { throw .mismatch(path, expected: "a table of groups", value) }
        for member in members {
            limitGroups[member.name] = try LimitSettings.options.applied(
                member.value, at: "\(path).\(member.name)", to: LimitSettings())
        }
    }
}

extension JSONValue {
    /// Reads a number greater than 0 and at most 1.
    fileprivate func share(_ path: String) throws(NightjarError) -> Double {
        let number: Double
        switch self {
        case .integer(let whole): number = Double(whole)
        case .number(let fraction): number = fraction
        default: throw .mismatch(path, expected: "a number greater than 0 and at most 1", self)
        }
        guard number > 0, number <= 1 else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) must be greater than 0 and at most 1, got \(number)")
        }
        return number
    }
}
