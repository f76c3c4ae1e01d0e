import NightjarHTTP

extension ResourceSettings {
    /// Reads a table `{debounce=, reload_on=, tags=, keep_previous=}`. `reload_on` is a list of `"network"`, `"children"`
    /// (writes to URLs below the path) and a number of seconds.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name (with the nearest known name)
    ///   or an invalid value.
    package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try ResourceSettings.options.applied(JSONValue(parsing: json), to: ResourceSettings())
        try check()
    }

    private static let options = OptionTable<ResourceSettings>([
        Option(name: "debounce") { value, path, settings throws(NightjarError) in
            settings.debounce = try value.duration(path)
        },
        Option(name: "reload_on") { value, path, settings throws(NightjarError) in
            guard case .array(let items) = value else {
                throw .mismatch(path, expected: "a list of \"network\", \"children\" and a number of seconds", value)
            }
            (settings.reloadsOnNetwork, settings.includesChildren, settings.interval) = (false, false, nil)
            for (index, item) in items.enumerated() { try settings.add(item, "\(path)[\(index + 1)]") }
        },
        Option(name: "tags") { value, path, settings throws(NightjarError) in
            settings.tags = try value.texts(path)
        },
        Option(name: "keep_previous") { value, path, settings throws(NightjarError) in
            settings.keepsPrevious = try value.flag(path)
        },
    ])

    /// Adds an item of `reload_on`.
    private mutating func add(_ item: JSONValue, _ path: String) throws(NightjarError) {
        guard case .string = item else {
            interval = try item.duration(path)
            return
        }
        switch try item.word(path, ["network", "children"]) {
        case "network": reloadsOnNetwork = true
        default: includesChildren = true
        }
    }
}
