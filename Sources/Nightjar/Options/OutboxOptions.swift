import NightjarHTTP

extension OutboxSettings {
    /// Reads a table `{name=, concurrency=, max_entries=, max_bytes=, max_age=, max_attempts=, retry_delay=,
    /// max_retry_delay=, keep=, keep_entries=, send=}`.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name (with the nearest known name)
    ///   or an invalid value.
    package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try Self.options.applied(JSONValue(parsing: json), to: OutboxSettings())
        try check()
    }

    static let options = OptionTable<OutboxSettings>([
        Option(name: "name") { value, path, settings throws(NightjarError) in
            settings.name = try value.text(path)
        },
        Option(name: "concurrency") { value, path, settings throws(NightjarError) in
            settings.concurrency = try value.count(path, in: concurrencies)
        },
        Option(name: "max_entries") { value, path, settings throws(NightjarError) in
            settings.maximumEntries = try value.count(path, in: entryCounts)
        },
        Option(name: "max_bytes") { value, path, settings throws(NightjarError) in
            settings.maximumBytes = try value.count(path, in: byteCounts)
        },
        Option(name: "max_age") { value, path, settings throws(NightjarError) in
            settings.maximumAge = try value.duration(path)
        },
        Option(name: "max_attempts") { value, path, settings throws(NightjarError) in
            settings.maximumAttempts = try value.count(path, in: attemptCounts)
        },
        Option(name: "retry_delay") { value, path, settings throws(NightjarError) in
            settings.retryDelay = try value.duration(path)
        },
        Option(name: "max_retry_delay") { value, path, settings throws(NightjarError) in
            settings.maximumRetryDelay = try value.duration(path)
        },
        Option(name: "keep") { value, path, settings throws(NightjarError) in
            settings.retention = try value.duration(path)
        },
        Option(name: "keep_entries") { value, path, settings throws(NightjarError) in
            settings.retainedEntries = try value.count(path, in: 0...1_000_000)
        },
        Option(name: "send") { value, path, settings throws(NightjarError) in
            settings.sends = try value.flag(path)
        },
    ])
}
