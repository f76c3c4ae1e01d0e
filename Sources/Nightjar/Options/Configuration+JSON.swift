import NightjarHTTP
import NightjarTesting
import NightjarTransport

extension Configuration {
    /// Applies the options of a JSON object; other settings are kept. Lua's option tables and C's
    /// `nj_config_merge_json` accept the same options.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name or a wrong type; `storage`
    ///   for a file that cannot be read; other errors for invalid values, such as `invalid_url`. The configuration is
    ///   then unchanged.
    public mutating func merge(json: UnsafeRawBufferPointer) throws(NightjarError) {
        try merge(JSONValue(parsing: json))
    }

    public mutating func merge(json: String) throws(NightjarError) {
        try merge(JSONValue(parsing: json))
    }

    mutating func merge(_ options: JSONValue) throws(NightjarError) {
        self = try Configuration.options.applied(options, to: self).resolvingSchemeAuth()
    }

    /// The options of parts of the configuration.
    private static let partOptions: [Option<Configuration>] =
        LimitSettings.options.lifted(to: \.limits) + ConnectivitySettings.options.lifted(to: \.connectivity)
        + TransportConfiguration.addressOptions.lifted(to: \.transport)

    private static let options = OptionTable<Configuration>(
        partOptions + [
            Option(name: "path_scope") { value, path, configuration throws(NightjarError) in
                configuration.pathScope = try PathScope(try value.text(path)).text
            },
            Option(name: "base_url") { value, path, configuration throws(NightjarError) in
                configuration.baseURL = try value.text(path)
            },
            Option(name: "headers") { value, path, configuration throws(NightjarError) in
                try configuration.headers.read(value, path)
            },
            Option(name: "user_agent") { value, path, configuration throws(NightjarError) in
                if case .bool(false) = value { return configuration.userAgent = nil }
                guard case .string(let text) = value else {
                    throw .mismatch(path, expected: "a string or false", value)
                }
                configuration.userAgent = text
            },
            Option(name: "timeout") { value, path, configuration throws(NightjarError) in
                try configuration.timeouts.read(value, path)
            },
            Option(name: "max_body") { value, path, configuration throws(NightjarError) in
                configuration.maximumBody = try value.size(path, atMost: Configuration.largestBodyLimit)
            },
            Option(name: "max_connections_per_host") { value, path, configuration throws(NightjarError) in
                configuration.transport.connectionsPerHost = try value.count(path, in: 1...65536)
            },
            Option(name: "idle_connection_lifetime") { value, path, configuration throws(NightjarError) in
                configuration.transport.idleConnectionLifetime = try value.duration(path)
            },
            Option(name: "auth") { value, path, configuration throws(NightjarError) in
                try configuration.readAuth(value, path)
            },
            Option(name: "endpoints") { value, path, configuration throws(NightjarError) in
                configuration.catalog = try Catalog(value, path)
            },
            Option(name: "openapi") { value, path, configuration throws(NightjarError) in
                configuration.openAPI = try value.text(path)
            },
            Option(name: "openapi_folder") { value, path, configuration throws(NightjarError) in
                configuration.openAPIFolder = value == .null ? nil : try value.text(path)
            },
            Option(name: "response_validation") { value, path, configuration throws(NightjarError) in
                configuration.responseValidation = try ResponseValidation(option: value, path)
            },
            Option(name: "limit_groups") { value, path, configuration throws(NightjarError) in
                try configuration.readLimitGroups(value, path)
            },
            Option(name: "retry") { value, path, configuration throws(NightjarError) in
                try configuration.readRetry(value, path)
            },
            Option(name: "respect_retry_after") { value, path, configuration throws(NightjarError) in
                configuration.respectsRetryAfter = try value.flag(path)
            },
            Option(name: "pause_header") { value, path, configuration throws(NightjarError) in
                configuration.pauseHeader = value == .null ? nil : try value.text(path)
                try configuration.checkPauseHeader()
            },
            Option(name: "lenient_line_endings") { value, path, configuration throws(NightjarError) in
                configuration.transport.lenientLineEndings = try value.flag(path)
            },
            Option(name: "coalesce") { value, path, configuration throws(NightjarError) in
                configuration.coalesces = try value.flag(path)
            },
            Option(name: "redirect") { value, path, configuration throws(NightjarError) in
                try configuration.redirect.read(value, path)
            },
            Option(name: "sensitive_headers") { value, path, configuration throws(NightjarError) in
                configuration.sensitiveHeaders = try value.texts(path)
            },
            Option(name: "forward_headers") { value, path, configuration throws(NightjarError) in
                configuration.forwardedHeaders = try value.texts(path)
                _ = try ForwardedFields(configuration.forwardedHeaders)
            },
            Option(name: "decompress") { value, path, configuration throws(NightjarError) in
                configuration.decompresses = try value.flag(path)
            },
            Option(name: "cookies") { value, path, configuration throws(NightjarError) in
                try configuration.readCookies(value, path)
            },
            Option(name: "cache") { value, path, configuration throws(NightjarError) in
                try configuration.readCache(value, path)
            },
            Option(name: "shared_loop") { value, path, configuration throws(NightjarError) in
                configuration.sharedLoop = value == .null ? nil : try value.text(path)
            },
            Option(name: "ephemeral") { value, path, configuration throws(NightjarError) in
                configuration.isEphemeral = try value.flag(path)
            },
            Option(name: "journal") { value, path, configuration throws(NightjarError) in
                configuration.journalPath = value == .null ? nil : try value.text(path)
            },
            Option(name: "proxy") { value, path, configuration throws(NightjarError) in
                try configuration.transport.proxy.read(value, path)
            },
            Option(name: "unix_socket") { value, path, configuration throws(NightjarError) in
                if case .null = value { return configuration.transport.unixSocket = nil }
                configuration.transport.unixSocket = try UnixSocket(value.text(path))
            },
            Option(name: "mock") { value, path, configuration throws(NightjarError) in
                configuration.mock = value == .null ? nil : try Mock(option: value, path)
            },
            Option(name: "cassette") { value, path, configuration throws(NightjarError) in
                configuration.cassette = value == .null ? nil : try CassetteOptions(option: value, path)
            },
            Option(name: "network") { value, path, configuration throws(NightjarError) in
                configuration.network = value == .null ? nil : try NetworkProfile(option: value, path)
            },
            Option(name: "http") { value, path, configuration throws(NightjarError) in
                try TransportConfiguration.httpOptions.apply(value, at: path, to: &configuration.transport)
            },
            Option(name: "https_only") { value, path, configuration throws(NightjarError) in
                configuration.httpsOnly = try HTTPSOnly(option: value, path)
            },
            Option(name: "tls") { value, path, configuration throws(NightjarError) in
                try TransportConfiguration.TLS.options.apply(value, at: path, to: &configuration.transport.tls)
            },
        ])
}
