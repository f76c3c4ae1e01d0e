import NightjarHTTP

extension DownloadSettings {
    /// Reads a table `{id=, resume=, checksum=, connections=, restart=, overwrite=, mode=, keep_time=, max_rate=, max_size=,
    /// attempts=, retry_delay=}`. `resume` is true, false or a state text. `mode` is a text of octal digits, such as
    /// `"600"`.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name (with the nearest known name)
    ///   or an invalid value.
    package init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        self = try Self.options.applied(JSONValue(parsing: json), to: DownloadSettings())
        try check()
    }

    static let options = OptionTable<DownloadSettings>([
        Option(name: "id") { value, path, settings throws(NightjarError) in
            settings.id = try value.text(path)
        },
        Option(name: "resume") { value, path, settings throws(NightjarError) in
            switch value {
            case .bool(let resumes): settings.resumption = resumes ? .automatic : .never
            case .string(let text): settings.resumption = .state(text)
            default: throw .mismatch(path, expected: "a boolean or a state text", value)
            }
        },
        Option(name: "checksum") { value, path, settings throws(NightjarError) in
            settings.checksum = try Checksum(try value.text(path))
        },
        Option(name: "connections") { value, path, settings throws(NightjarError) in
            settings.connections = try value.count(path, in: connectionCounts)
        },
        Option(name: "restart") { value, path, settings throws(NightjarError) in
            settings.restarts = try value.flag(path)
        },
        Option(name: "overwrite") { value, path, settings throws(NightjarError) in
            settings.overwrites = try value.flag(path)
        },
        Option(name: "mode") { value, path, settings throws(NightjarError) in
            let text = try value.text(path)
            guard let mode = UInt16(text, radix: 8), mode <= 0o7777 else {
                throw NightjarError(
                    .invalidArgument, "option \(quoted(path)) must be octal digits such as \"644\", got \(quoted(text))"
                )
            }
            settings.mode = mode
        },
        Option(name: "keep_time") { value, path, settings throws(NightjarError) in
            settings.keepsTime = try value.flag(path)
        },
        Option(name: "max_rate") { value, path, settings throws(NightjarError) in
            settings.maximumRate = try value.count(path, in: TransferSettings.rates)
        },
        Option(name: "max_size") { value, path, settings throws(NightjarError) in
            settings.maximumSize = try value.count(path, in: 1...Int.max)
        },
        Option(name: "attempts") { value, path, settings throws(NightjarError) in
            settings.attempts = try value.count(path, in: TransferSettings.attemptCounts)
        },
        Option(name: "retry_delay") { value, path, settings throws(NightjarError) in
            settings.retryDelay = try value.duration(path)
        },
    ])
}
