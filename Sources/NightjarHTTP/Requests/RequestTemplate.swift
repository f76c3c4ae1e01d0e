import NIOCore

/// What all requests of a client have in common, made into bytes once. Immutable and shared.
public final class RequestTemplate: Sendable {
    /// What relative targets are put behind.
    public let base: RequestURL?
    /// The Host line for the origin of ``base``, with its CRLF.
    let hostLine: ByteBuffer
    /// The default field lines, Host apart, each with its CRLF.
    let fieldLines: ByteBuffer
    /// Those fields, for a request that replaces one of them.
    let fields: Headers
    /// Fields that may go to another origin than that of ``base``.
    let publicFields: Headers
    /// Whether one of the default fields carries credentials.
    package let hasCredentials: Bool
    /// Which fields those are, and which go along with redirects and pages.
    package let forwarded: ForwardedFields
    /// Bit n: a field in ``fields`` has a name of n bytes, modulo 64. Tells most names apart without looking at them.
    let nameLengths: UInt64
    /// Names of fields and query items to be masked where a request is shown, beside those known for credentials.
    let sensitive: [String]

    /// - Parameters:
    ///   - base: absolute and without a query. Its user info becomes Basic credentials for its origin, unless `defaults`
    ///     have an Authorization.
    ///   - defaults: sent with each request that does not set the same name.
    ///   - userAgent: the User-Agent field, where `defaults` have none; nil for none.
    ///   - acceptEncoding: the Accept-Encoding field, likewise.
    ///   - sensitive: names of fields and query items that carry credentials, beside those known for it.
    ///   - forwarded: the fields that go to other origins than that of `base`.
    /// - Throws: `invalid_url` or `invalid_request`, with the reason.
    public init(
        base: RequestURL?, defaults: Headers, userAgent: String?, acceptEncoding: String? = nil,
        sensitive: [String] = [], forwarded: ForwardedFields = .standard
    ) throws(NightjarError) {
        if base?.query != nil {
            throw NightjarError(
                .invalidURL, "the base URL has a query, which a joined path would end up in; give it to each request")
        }
        try ReservedField.check(defaults)
        if base == nil, let name = defaults.firstSecret {
            throw NightjarError(
                .invalidRequest,
                "the default header \"\(name)\" would go to every server: set base_url, whose origin alone gets it, "
                    + "or give it to each request")
        }
        self.base = base

        var fields = defaults
        if let userInfo = base?.userInfo, fields.firstIndex(of: "Authorization") == nil {
            try fields.add("Authorization", userInfo.basicCredentials)
        }
        if let userAgent, fields.firstIndex(of: "User-Agent") == nil { try fields.add("User-Agent", userAgent) }
        if let acceptEncoding, fields.firstIndex(of: "Accept-Encoding") == nil {
            try fields.add("Accept-Encoding", acceptEncoding)
        }
        let hosts = fields.values("Host")
        guard hosts.count <= 1 else {
            throw NightjarError(.invalidRequest, "header \"Host\" is set \(hosts.count) times; a request has one")
        }
        fields.remove("Host")
        var hostLine = ByteBuffer()
        if let host = hosts.first ?? base?.origin.hostField {
            try HostField.check(host)
            hostLine.writeString("Host: \(host)\r\n")
        }

        var lines = ByteBuffer()
        var lengths: UInt64 = 0
        var publicFields = Headers()
        var hasCredentials = false
        for index in 0..<fields.count {
            fields.withBytes(at: index) { name, value in
                HeadWriter.writeField(name, value, into: &lines)
                lengths |= 1 << UInt64(name.count & 63)
                let isNamed = sensitive.contains { ASCII.equalIgnoringCase(name, $0.utf8) }
                hasCredentials = hasCredentials || isNamed || SecretNames.isSecret(field: name, value)
                if forwarded.allow(name, sensitive: sensitive) { publicFields.append(name: name, value: value) }
            }
        }
        self.hostLine = hostLine
        self.fields = fields
        self.publicFields = base == nil ? fields : publicFields
        self.hasCredentials = hasCredentials
        self.forwarded = forwarded
        fieldLines = lines
        nameLengths = lengths
        self.sensitive = sensitive
    }

    /// Names that the configuration calls those of credentials.
    package var sensitiveNames: [String] { sensitive }

    /// Whether each request has a field of this name that does not set its own.
    public func hasField(_ name: String) -> Bool { fields.firstIndex(of: name) != nil }

    /// False: no default field has this name.
    func mayHaveField(namedLike name: UnsafeRawBufferPointer) -> Bool {
        nameLengths &>> UInt64(name.count & 63) & 1 == 1
    }
}
