import NightjarHTTP
import NightjarTesting

extension CassetteOptions {
    /// Reads the path of a file, or `{file=, mode=, repeats=, timing=, headers=, ignore=, secrets=, secret_values=}`.
    init(option value: JSONValue, _ path: String) throws(NightjarError) {
        self.init("")
        guard case .object = value else {
            file = try value.text(path)
            try checkFile(path)
            return
        }
        try CassetteOptions.options.apply(value, at: path, to: &self)
        try checkFile(path + ".file")
    }

    private func checkFile(_ path: String) throws(NightjarError) {
        guard file.isEmpty else { return }
        throw NightjarError(.invalidArgument, "option \(quoted(path)) is missing; set the path of the cassette")
    }

    private static let options = OptionTable<CassetteOptions>([
        Option(name: "file") { value, path, options throws(NightjarError) in options.file = try value.text(path) },
        Option(name: "mode") { value, path, options throws(NightjarError) in
            guard case .string(let text) = value, let mode = Mode(rawValue: text) else {
                throw .mismatch(path, expected: "\"record\", \"replay\" or \"auto\"", value)
            }
            options.mode = mode
        },
        Option(name: "repeats") { value, path, options throws(NightjarError) in options.repeats = try value.flag(path)
        },
        Option(name: "timing") { value, path, options throws(NightjarError) in
            options.replaysTiming = try value.flag(path)
        },
        Option(name: "headers") { value, path, options throws(NightjarError) in
            options.comparison.headers = try value.texts(path)
        },
        Option(name: "ignore") { value, path, options throws(NightjarError) in
            try ignored.apply(value, at: path, to: &options.comparison)
        },
        Option(name: "secrets") { value, path, options throws(NightjarError) in
            options.secrets.additionalNames = try value.texts(path)
        },
        Option(name: "secret_values") { value, path, options throws(NightjarError) in
            options.secrets.values = try value.texts(path)
        },
    ])

    private static let ignored = OptionTable<CassetteComparison>([
        Option(name: "query") { value, path, comparison throws(NightjarError) in
            comparison.ignoredQuery = try value.texts(path)
        },
        Option(name: "json") { value, path, comparison throws(NightjarError) in
            comparison.ignoredJSON = []
            for text in try value.texts(path) { comparison.ignoredJSON.append(try JSONPointer(text)) }
        },
        Option(name: "body") { value, path, comparison throws(NightjarError) in
            comparison.ignoresBody = try value.flag(path)
        },
        Option(name: "origin") { value, path, comparison throws(NightjarError) in
            comparison.ignoresOrigin = try value.flag(path)
        },
    ])
}
