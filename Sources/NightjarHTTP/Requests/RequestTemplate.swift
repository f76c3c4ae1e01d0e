import NIOCore

/// Options for decoding JSON. A class, so that all requests of a client share one copy.
final class SharedDecoding: Sendable {
    let options: JSONDecodingOptions

    init(_ options: JSONDecodingOptions) { self.options = options }
}

/// The parts that all requests of a client have in common, serialized once. Immutable.
public final class RequestTemplate: Sendable {
    /// The base URL for relative targets.
    public let base: RequestURL?
    /// The default Host line with its CRLF: the caller's default Host field, or that of the origin of ``base``. Empty
    /// if there is neither.
    let hostLine: ByteBuffer
    /// The default field lines without Host, each with its CRLF.
    let fieldLines: ByteBuffer
    /// The default fields, for a request that replaces one of them.
    let fields: Headers
    /// The default fields that may be sent to an origin other than that of ``base``. All fields if ``base`` is nil.
    let publicFields: Headers
    /// True if one of the default fields carries credentials.
    package let hasCredentials: Bool
    /// The fields that may be sent to another origin than that of ``base``.
    package let forwarded: ForwardedFields
    /// Bit n is set if the length of a name in ``fields`` is n bytes modulo 64. The bits exclude most other names
    /// without a comparison.
    let nameLengths: UInt64
    /// Names of fields and query items whose values are masked when a request is shown, in addition to the built-in
    /// credential names.
    let sensitive: [String]
    /// The client's options for decoding responses. Nil if there are none.
    let decoding: SharedDecoding?

    /// - Parameters:
    ///   - base: an absolute URL without a query. Its user info is sent as Basic credentials to its origin, unless
    ///     `defaults` contains an Authorization field.
    ///   - defaults: the default fields. A request's own fields replace default fields of the same name.
    ///   - userAgent: the User-Agent field, unless `defaults` contains one. Nil adds none.
    ///   - acceptEncoding: the Accept-Encoding field, unless `defaults` contains one. Nil adds none.
    ///   - sensitive: names of fields and query items that carry credentials, in addition to the built-in names.
    ///   - forwarded: the fields that are sent to origins other than that of `base`.
    ///   - decoding: the options with which responses are decoded by default. Nil for the options of the type.
    /// - Throws: `invalid_url` or `invalid_request`, with the reason.
    public init(
        base: RequestURL?, defaults: Headers, userAgent: String?, acceptEncoding: String? = nil,
        sensitive: [String] = [], forwarded: ForwardedFields = .standard,
        decoding: JSONDecodingOptions? = nil
    ) throws(NightjarError) {
        if base?.query != nil {
            throw NightjarError(
                .invalidURL, "the base URL must not have a query; set the query on each request")
        }
        try defaults.checkLiterals()
        try ReservedField.check(defaults)
        if base == nil, let name = defaults.firstCredential(sensitive: sensitive) {
            throw NightjarError(
                .invalidRequest,
                "the default header \"\(name)\" would be sent to every server; set base_url so that only "
                    + "its origin receives the header, or set the header on each request")
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
            throw NightjarError(.invalidRequest, "header \"Host\" is set \(hosts.count) times; set it once")
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
        self.decoding = decoding.map(SharedDecoding.init)
    }

    /// The names that the configuration declares as credentials.
    package var sensitiveNames: [String] { sensitive }

    /// Returns true if requests have a default field of this name.
    public func hasField(_ name: String) -> Bool { fields.firstIndex(of: name) != nil }

    /// Returns false only if no default field has this name.
    func mayHaveField(namedLike name: UnsafeRawBufferPointer) -> Bool {
        nameLengths &>> UInt64(name.count & 63) & 1 == 1
    }
}
