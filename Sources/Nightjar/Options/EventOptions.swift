import NightjarHTTP

extension EventStreamSettings {
    /// Reads a table `{last_event_id=, idle_timeout=, reconnect=, reconnection_time=, max_event=}`. `reconnect` is true
    /// (after an end and after a failure), false, or `"after_failure"`.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name (with the nearest known name)
    ///   or an invalid value.
    package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try EventStreamSettings.options.applied(JSONValue(parsing: json), to: EventStreamSettings())
        try check()
    }

    private static let options = OptionTable<EventStreamSettings>([
        Option(name: "last_event_id") { value, path, settings throws(NightjarError) in
            settings.lastEventID = try value.text(path)
        },
        Option(name: "idle_timeout") { value, path, settings throws(NightjarError) in
            settings.idleTimeout = try value.duration(path)
        },
        Option(name: "reconnect") { value, path, settings throws(NightjarError) in
            switch value {
            case .bool(let reconnects): settings.reconnection = reconnects ? .always : .never
            case .string:
                _ = try value.word(path, ["after_failure"])
                settings.reconnection = .afterFailure
            default: throw .mismatch(path, expected: "a boolean or \"after_failure\"", value)
            }
        },
        Option(name: "reconnection_time") { value, path, settings throws(NightjarError) in
            settings.reconnectionTime = try value.duration(path)
        },
        Option(name: "max_event") { value, path, settings throws(NightjarError) in
            settings.maximumEvent = try value.count(path, in: EventStreamSettings.eventSizes)
        },
    ])
}
