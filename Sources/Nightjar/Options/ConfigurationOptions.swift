import NightjarHTTP

/// The options of a client as `nj_config_merge_json` and Lua's `nightjar.client{}` take them: one schema for both.
extension Configuration {
    private enum ClientOption: String, CaseIterable {
        /// Text; null: none.
        case baseURL = "base_url"
        /// An object of text; null takes a field away.
        case headers
        /// Text; false: none is sent.
        case userAgent = "user_agent"
        /// Seconds for the whole call, or an object of ``TimeoutOption``; null: no limit at all.
        case timeout
        /// Bytes, or text like "20MB".
        case maxBody = "max_body"
        case maxConnectionsPerHost = "max_connections_per_host"
        /// Seconds.
        case idleConnectionLifetime = "idle_connection_lifetime"
        /// An object of ``TLSOption``.
        case tls
    }

    /// Promised to later versions (DESIGN section 7). Ignoring one would lose what the caller relies on.
    private enum LaterOption: String {
        case auth
        case retry
        case cache
        case coalesce
        case cookies
        case rateLimit = "rate_limit"
        case proxy
    }

    /// Seconds each; null: no limit.
    private enum TimeoutOption: String, CaseIterable {
        case connect
        case idle
        case total
    }

    private enum TLSOption: String, CaseIterable {
        /// Path of a PEM file; null: the system's trust store.
        case certificateAuthorityFile = "ca_file"
        case verify
    }

    /// Sets what the JSON object `text` names and leaves the rest; all of it or, on an error, nothing.
    ///
    /// - Throws: ``ErrorKind/invalidArgument`` for bad JSON, an unknown name, a wrong type or a value out of range.
    public mutating func merge(json text: String) throws(NightjarError) {
        do {
            try merge(JSONValue(parsing: text))
        } catch {
            throw Configuration.asArgument(error)
        }
    }

    /// ``merge(json:)-(String)`` for bytes that are not text yet. They are not kept.
    public mutating func merge(json bytes: UnsafeRawBufferPointer) throws(NightjarError) {
        do {
            try merge(JSONValue(parsing: bytes))
        } catch {
            throw Configuration.asArgument(error)
        }
    }

    /// ``merge(json:)-(String)`` for what is parsed already.
    public mutating func merge(_ options: JSONValue) throws(NightjarError) {
        guard case .object(let members) = options else {
            throw NightjarError(.invalidArgument, "the options must be an object, found \(options.typeName)")
        }
        var merged = self
        for member in members { try merged.set(Option(member)) }
        self = merged
    }

    private static func asArgument(_ error: NightjarError) -> NightjarError {
        error.kind == .decoding ? NightjarError(.invalidArgument, "options: \(error.message)") : error
    }

    private mutating func set(_ option: Option) throws(NightjarError) {
        guard LaterOption(rawValue: option.name) == nil else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(option.path)) is not supported by version \(Version.string) yet")
        }
        switch try option.known(as: ClientOption.self) {
        case .baseURL: baseURL = option.isNone ? nil : try option.string("a URL")
        case .headers: try setHeaders(option)
        case .userAgent: userAgent = option.isNone ? nil : try option.string("a string or false")
        case .timeout: try setTimeouts(option)
        case .maxBody: maximumBody = try option.byteCount()
        case .maxConnectionsPerHost: transport.connectionsPerHost = try option.integer(in: 1...65535)
        case .idleConnectionLifetime: transport.idleConnectionLifetime = try option.duration()
        case .tls: try setTLS(option)
        }
    }

    private mutating func setHeaders(_ option: Option) throws(NightjarError) {
        for field in try option.members("an object of strings") {
            guard !field.isNone else {
                headers.remove(field.name)
                continue
            }
            do {
                try headers.set(field.name, field.string())
            } catch {
                guard error.kind != .invalidArgument else { throw error }
                throw NightjarError(.invalidArgument, "option \(quoted(field.path)): \(error.message)")
            }
        }
    }

    private mutating func setTimeouts(_ option: Option) throws(NightjarError) {
        if option.isNone {
            timeouts = Timeouts()
        } else if case .object = option.value {
            for part in try option.members("an object") {
                switch try part.known(as: TimeoutOption.self) {
                case .connect: timeouts.connect = try part.limit()
                case .idle: timeouts.idle = try part.limit()
                case .total: timeouts.total = try part.limit()
                }
            }
        } else {
            guard option.value.double != nil else {
                throw option.wrong("a number of seconds or an object of connect, idle and total")
            }
            timeouts.total = try option.duration()
        }
    }

    private mutating func setTLS(_ option: Option) throws(NightjarError) {
        for part in try option.members("an object of ca_file and verify") {
            switch try part.known(as: TLSOption.self) {
            case .certificateAuthorityFile:
                transport.certificateAuthorityFile = part.isNone ? nil : try part.string("the path of a PEM file")
            case .verify: transport.verifiesCertificates = try part.bool()
            }
        }
    }
}
