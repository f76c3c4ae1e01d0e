import NightjarHTTP

extension RetryChanges {
    /// Reads `true` or `false`, the number of attempts, or `{attempts=, base=, cap=, max_wait=}`.
    mutating func read(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .object: try RetryChanges.options.apply(value, at: path, to: &self)
        default: try readAttempts(value, path)
        }
    }

    fileprivate mutating func readAttempts(_ value: JSONValue, _ path: String) throws(NightjarError) {
        switch value {
        case .bool(let flag): maximumAttempts = flag ? RetrySettings().maximumAttempts : 1
        case .integer: maximumAttempts = try value.count(path, in: 1...100)
        default: throw .mismatch(path, expected: "true, false, a number of attempts or a table", value)
        }
    }

    fileprivate static let options = OptionTable<RetryChanges>([
        Option(name: "attempts") { value, path, settings throws(NightjarError) in
            settings.maximumAttempts = try value.count(path, in: 1...100)
        },
        Option(name: "base") { value, path, settings throws(NightjarError) in
            settings.base = try value.duration(path)
        },
        Option(name: "cap") { value, path, settings throws(NightjarError) in
            settings.cap = try value.duration(path)
        },
        Option(name: "max_wait") { value, path, settings throws(NightjarError) in
            settings.longestWait = try value.duration(path)
        },
    ])
}

extension Configuration {
    /// Reads the retry options of a client: the same as for a call, and in addition `{budget = {reserve=,
    /// successes_per_retry=}}`.
    mutating func readRetry(_ value: JSONValue, _ path: String) throws(NightjarError) {
        var choice = ClientRetryChoice(budget: retryBudget)
        if case .object = value {
            try ClientRetryChoice.options.apply(value, at: path, to: &choice)
        } else {
            try choice.changes.readAttempts(value, path)
        }
        (retry, retryBudget) = (choice.changes.applied(to: retry), choice.budget)
    }
}

private struct ClientRetryChoice {
    var changes = RetryChanges()
    var budget: RetryBudget.Settings

    static let options = OptionTable<ClientRetryChoice>(
        RetryChanges.options.lifted(to: \.changes) + [
            Option(name: "budget") { value, path, choice throws(NightjarError) in
                try RetryBudget.Settings.options.apply(value, at: path, to: &choice.budget)
            }
        ])
}

extension RetryBudget.Settings {
    fileprivate static let options = OptionTable<RetryBudget.Settings>([
        Option(name: "reserve") { value, path, settings throws(NightjarError) in
            settings.reserve = try value.count(path, in: 0...1_000_000)
        },
        Option(name: "successes_per_retry") { value, path, settings throws(NightjarError) in
            settings.successesPerRetry = try value.count(path, in: 1...1_000_000)
        },
    ])
}
