import NightjarHTTP

/// The one schema of options for dynamic languages: nj_config_merge_json and Lua's `nightjar.client{...}`.
extension Configuration {
    /// Sets what a JSON object names; the rest stays, and so does a member that is null.
    ///
    /// - Throws: `decoding` when it is not JSON, `invalid_argument` for an unknown name or a wrong type,
    ///   `invalid_request` for a header that cannot be sent. Then nothing has changed.
    public mutating func merge(json: UnsafeRawBufferPointer) throws(NightjarError) {
        try merge(JSONValue(parsing: json))
    }

    /// The same for JSON that has been read.
    public mutating func merge(_ json: JSONValue) throws(NightjarError) {
        let options = try OptionObject(json, known: Configuration.known, later: Configuration.later)
        var new = self
        if let url = try options.string("base_url") { new.baseURL = url }
        for header in try options.strings("headers") ?? [] { try new.headers.set(header.name, header.value) }
        if case .bool(false) = options.value("user_agent") {
            new.userAgent = nil
        } else if let userAgent = try options.string("user_agent") {
            new.userAgent = userAgent
        }
        if let timeout = options.value("timeout") { new.timeouts = try Timeouts(timeout).filled(from: timeouts) }
        if let bytes = try options.integer("max_body", in: 0...Int.max) { new.maximumBody = bytes }
        if let count = try options.integer("max_connections_per_host", in: 1...65536) {
            new.transport.connectionsPerHost = count
        }
        if let lifetime = try options.seconds("idle_connection_lifetime") {
            new.transport.idleConnectionLifetime = lifetime
        }
        if let tls = options.value("tls") { try new.transport.merge(tls: tls) }
        self = new
    }

    private static let known = [
        "base_url", "headers", "user_agent", "timeout", "max_body", "max_connections_per_host",
        "idle_connection_lifetime", "tls",
    ]

    private static let later = ["auth", "retry", "cache", "coalesce", "cookies", "rate_limit"]
}

extension Timeouts {
    /// A number is the total; an object sets each by its name.
    init(_ json: JSONValue) throws(NightjarError) {
        guard case .object = json else {
            self.init(total: try OptionObject.seconds(json, "timeout"))
            return
        }
        let limits = try OptionObject(json, path: "timeout", known: ["connect", "idle", "total"])
        self.init(
            connect: try limits.seconds("connect"), idle: try limits.seconds("idle"),
            total: try limits.seconds("total"))
    }
}

extension TransportConfiguration {
    mutating func merge(tls json: JSONValue) throws(NightjarError) {
        let options = try OptionObject(json, path: "tls", known: ["ca_file", "verify"], later: ["pins"])
        if let file = try options.string("ca_file") { certificateAuthorityFile = file }
        if let verify = try options.bool("verify") { verifiesCertificates = verify }
    }
}
