/// The answer of a token endpoint. RFC 6749 sections 5.1 and 5.2.
public enum TokenResponse: Sendable, Equatable {
    case token(Token)
    case refused(Refusal)

    public struct Refusal: Sendable, Equatable {
        /// `invalid_grant`, `authorization_pending` and so on.
        public var code: String
        public var description: String?
        public var uri: String?

        public init(code: String, description: String? = nil, uri: String? = nil) {
            self.code = code
            self.description = description
            self.uri = uri
        }

        public var isInvalidGrant: Bool { code == "invalid_grant" }
    }

    /// An answer beyond this many bytes is no token.
    public static let largestBody = 1 << 20

    /// - Parameters:
    ///   - old: the token that was refreshed: what the answer leaves out stays as it was.
    ///   - now: when the request was sent; the token's life is counted from before the server's answer was under way.
    /// - Throws: `decoding`, without a word of the answer: it may hold secrets. Also for a token of another type than Bearer,
    ///   which the client would have to understand to use it.
    public init(
        status: Int, body: UnsafeRawBufferPointer, replacing old: Token? = nil, at now: Timestamp
    ) throws(NightjarError) {
        guard body.count <= TokenResponse.largestBody else {
            throw NightjarError(.tooLarge, "the token endpoint's answer is larger than 1 MiB")
        }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: body)
        } catch {
            throw NightjarError(.decoding, "the token endpoint answered \(status) with no JSON")
        }
        // Some servers refuse with 200.
        if let code = json["error"]?.nonEmptyText {
            self = .refused(
                Refusal(
                    code: code, description: json["error_description"]?.nonEmptyText,
                    uri: json["error_uri"]?.nonEmptyText))
            return
        }
        guard 200..<300 ~= status else {
            throw NightjarError(.decoding, "the token endpoint answered \(status) without an \"error\"")
        }
        guard let access = json["access_token"]?.nonEmptyText else {
            throw NightjarError(.decoding, "the token endpoint's answer has no \"access_token\"")
        }
        let type = try json["token_type"].tokenType(or: old?.type)
        // RFC 6749 section 7.1: a token whose type the client does not understand is not used.
        guard ASCII.equalIgnoringCase(type.utf8, (old?.type ?? "bearer").utf8) || type.isBearer else {
            throw NightjarError(
                .decoding,
                "the token endpoint's token is of the type \(quoted(type, limit: 40)), which this client does not support; "
                    + "it supports Bearer")
        }
        self = .token(
            Token(
                access: access, refresh: json["refresh_token"]?.nonEmptyText ?? old?.refresh, type: type,
                expiry: json["expires_in"]?.lifetime.flatMap { now.later(by: $0) },
                scope: json["scope"]?.nonEmptyText ?? old?.scope))
    }
}

extension TokenResponse.Refusal {
    /// Of a login, that is: what the server says is quoted.
    public var error: NightjarError {
        NightjarError(
            .unauthorized,
            "the server refused the login: \(quoted(code))"
                + (description.map { ", \(quoted($0, limit: 200))" } ?? ""))
    }
}

extension JSONValue? {
    /// The type of a token, or that of the token before it; RFC 6750's where a server names none.
    ///
    /// - Throws: `decoding` for a type that is not text: it is unknown, and must not be taken for Bearer.
    func tokenType(or old: String?) throws(NightjarError) -> String {
        switch self {
        case nil, .null?: return old ?? "Bearer"
        case .string(let text)?: return text.isEmpty ? old ?? "Bearer" : text
        default: throw NightjarError(.decoding, "the token's type in the server's response is not text")
        }
    }
}

extension String {
    fileprivate var isBearer: Bool { ASCII.equalIgnoringCase(utf8, "bearer".utf8) }
}

extension JSONValue {
    var nonEmptyText: String? {
        guard case .string(let text) = self, !text.isEmpty else { return nil }
        return text
    }

    /// Seconds, as a number or, against the RFC, as its digits. What is below zero is over, and 30 millennia are enough.
    var lifetime: Duration? {
        let seconds: Double
        switch self {
        case .integer(let number): seconds = Double(number)
        case .unsigned: seconds = .infinity
        case .number(let number): seconds = number
        case .string(let text):
            guard let number = Double(text), !number.isNaN else { return nil }
            seconds = number
        case .null, .bool, .array, .object: return nil
        }
        return .milliseconds(Int64(min(max(seconds, 0), 1e12) * 1000))
    }
}
