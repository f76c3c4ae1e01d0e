import NIOCore

extension ErrorBody {
    /// Reads the error that a response reports. The values come from the body (JSON, XML or plain text). A missing
    /// code or detail may come from `WWW-Authenticate` (RFC 6750 section 3), and a missing code from AWS's
    /// `X-Amzn-ErrorType`.
    ///
    /// Credentials of the request that appear in the values are masked. Returns nil if the response contains no
    /// recognized error description.
    public init?(_ response: Response) {
        self.init()
        if let body = ErrorBody(parsing: response.body) {
            self = body
        } else {
            message = ErrorBody.plainText(of: response)
        }
        if code == nil { code = ErrorBody.awsCode(response.headers["X-Amzn-ErrorType"].map { .string($0) }) }
        readChallenges(of: response)
        guard self != ErrorBody() else { return nil }
        if let sent = response.sent { mask(SentSecrets(sent)) }
    }

    /// Returns the text of a `text/plain` body. Returns nil for other media types, for bodies over ``maximumBody``
    /// bytes, for blank text and for text that begins with `<`.
    private static func plainText(of response: Response) -> String? {
        guard response.body.readableBytes <= maximumBody,
            let type = response.headers["Content-Type"].flatMap(MediaType.init), type.essence == "text/plain"
        else { return nil }
        let text = response.text
        guard text.utf8.first(where: { !ASCII.isWhitespace($0) }) != UInt8(ascii: "<") else { return nil }
        let bytes = Array(text.utf8)
        return self.text(.string(String(decoding: ASCII.trimmed(bytes), as: UTF8.self)))
    }

    /// Returns the name of an AWS error. Accepts `com.amazonaws.dynamodb.v20120810#ResourceNotFoundException` and
    /// `ResourceNotFoundException:http://internal.amazon.com/...`.
    static func awsCode(_ value: JSONValue?) -> String? {
        guard case .string(let text) = value else { return nil }
        let named = text.prefix { $0 != ":" }
        let name = named.lastIndex(of: "#").map { named[named.index(after: $0)...] } ?? named
        return self.text(.string(String(name)))
    }

    private mutating func readChallenges(of response: Response) {
        let challenges = Challenge.parse(response.headers.values("WWW-Authenticate"))
        guard let challenge = challenges.first(where: { $0["error"] != nil || $0["error_description"] != nil }) else {
            return
        }
        code = code ?? ErrorBody.text(challenge["error"].map { .string($0) })
        if message == nil, detail == nil, title == nil {
            detail = ErrorBody.text(challenge["error_description"].map { .string($0) })
        }
    }

    /// Summarizes up to three authentication challenges of a response for an error message: `Bearer (realm "example")`.
    ///
    /// Returns nil if no `WWW-Authenticate` field contains a valid challenge, or if the status is not 401 and no
    /// challenge contains an error.
    public static func challenge(of response: Response) -> String? {
        let challenges = Challenge.parse(response.headers.values("WWW-Authenticate"))
        guard response.status == 401 || challenges.contains(where: { $0["error"] != nil }), !challenges.isEmpty else {
            return nil
        }
        let secrets = response.sent.map(SentSecrets.init)
        let shown = challenges.prefix(maximumChallenges).map { challenge in
            let parameters = shownParameters.compactMap { name -> String? in
                guard let value = challenge[name], !value.isEmpty else { return nil }
                return "\(name) \(quoted(secrets?.masking(value) ?? value, limit: maximumParameter))"
            }
            let scheme = schemeNames[challenge.scheme] ?? String(challenge.scheme.prefix(maximumScheme))
            return scheme + (parameters.isEmpty ? "" : " (\(parameters.joined(separator: ", ")))")
        }
        return shown.joined(separator: ", ") + (challenges.count > shown.count ? ", ..." : "")
    }

    /// Challenge parameters that describe the required credentials. `error` and `error_description` are not listed,
    /// because ``readChallenges(of:)`` reads them.
    private static let shownParameters = ["realm", "scope", "service", "resource_metadata", "authorization_uri"]
    private static let schemeNames = [
        "basic": "Basic", "bearer": "Bearer", "digest": "Digest", "negotiate": "Negotiate", "ntlm": "NTLM",
        "dpop": "DPoP",
    ]
    private static let maximumChallenges = 3
    private static let maximumParameter = 120
    private static let maximumScheme = 40

    private mutating func mask(_ secrets: SentSecrets) {
        guard !secrets.isEmpty else { return }
        type = type.map(secrets.masking)
        title = title.map(secrets.masking)
        message = message.map(secrets.masking)
        detail = detail.map(secrets.masking)
        code = code.map(secrets.masking)
        fields = fields.map { Field($0.name.map(secrets.masking), secrets.masking($0.message)) }
    }
}
