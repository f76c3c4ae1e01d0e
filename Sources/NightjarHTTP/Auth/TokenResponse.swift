/// The unit of the lifetimes that a server reports.
public enum TokenLifetimeUnit: String, Sendable, CaseIterable {
    /// RFC 6749 section 5.1.
    case seconds
    /// Contrary to the RFC.
    case milliseconds
}

/// The response of a token endpoint. RFC 6749 sections 5.1 and 5.2.
public enum TokenResponse: Sendable, Equatable {
    case token(Token)
    case refused(Refusal)

    public struct Refusal: Sendable, Equatable {
        /// The error code: `invalid_grant`, `authorization_pending` and so on.
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

    /// The maximum size of a response body in bytes.
    public static let largestBody = 1 << 20

    /// - Parameters:
    ///   - old: the token that was refreshed. Its refresh token, type and scope are used if the response lacks them.
    ///   - now: the time at which the request was sent. The lifetime is counted from this time, because the server
    ///     issues the token later.
    ///   - unit: the unit of `expires_in`.
    /// - Throws: `too_large` if the response exceeds 1 MiB; `decoding` if the response is invalid, or if the token type
    ///   is neither Bearer nor the type of `old`. Messages do not quote tokens.
    public init(
        status: Int, body: UnsafeRawBufferPointer, replacing old: Token? = nil, at now: Timestamp,
        lifetimesIn unit: TokenLifetimeUnit = .seconds
    ) throws(NightjarError) {
        guard body.count <= TokenResponse.largestBody else {
            throw NightjarError(.tooLarge, "the response of the token endpoint is larger than 1 MiB")
        }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: body)
        } catch {
            throw NightjarError(.decoding, "the token endpoint responded \(status), and its body is not JSON")
        }
        // Some servers report a refusal with status 200.
        if let code = json["error"]?.nonEmptyText {
            self = .refused(
                Refusal(
                    code: code, description: json["error_description"]?.nonEmptyText,
                    uri: json["error_uri"]?.nonEmptyText))
            return
        }
        guard 200..<300 ~= status else {
            throw NightjarError(
                .decoding, "the token endpoint responded \(status), and its JSON has no valid \"error\"")
        }
        guard let access = json["access_token"]?.nonEmptyText else {
            throw NightjarError(.decoding, "the response of the token endpoint has no valid \"access_token\"")
        }
        let type = try json["token_type"].tokenType(or: old?.type)
        // RFC 6749 section 7.1: a client must not use a token whose type it does not support.
        guard ASCII.equalIgnoringCase(type.utf8, (old?.type ?? "bearer").utf8) || type.isBearer else {
            throw NightjarError(
                .decoding,
                "the token endpoint issued a token of type \(quoted(type, limit: 40)), which is not supported; "
                    + "the client supports only Bearer tokens")
        }
        self = .token(
            Token(
                access: access, refresh: json["refresh_token"]?.nonEmptyText ?? old?.refresh, type: type,
                expiry: json["expires_in"]?.lifetime(in: unit).flatMap { now.later(by: $0) },
                scope: json["scope"]?.nonEmptyText ?? old?.scope))
    }
}

extension TokenResponse.Refusal {
    /// The error for a refused login or token refresh. Quotes the server's description.
    public var error: NightjarError {
        NightjarError(
            .unauthorized,
            "the authorization server responded with the error \(quoted(code))"
                + (description.map { ", \(quoted($0, limit: 200))" } ?? ""))
    }
}

extension JSONValue? {
    /// Returns the token type. If the response has none, returns the type of the previous token, or Bearer (RFC 6750).
    ///
    /// - Throws: `decoding` if the type is not a string.
    func tokenType(or old: String?) throws(NightjarError) -> String {
        switch self {
        case nil, .null?: return old ?? "Bearer"
        case .string(let text)?: return text.isEmpty ? old ?? "Bearer" : text
        default: throw NightjarError(.decoding, "the token type in the response is not a string")
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

    /// Returns the value as a lifetime: a number or, contrary to the RFC, a numeric string. Clamped to 0 to 1e12 seconds.
    func lifetime(in unit: TokenLifetimeUnit) -> Duration? {
        let count: Double
        switch self {
        case .integer(let number): count = Double(number)
        case .unsigned: count = .infinity
        case .number(let number): count = number
        case .string(let text):
            guard let number = Double(text), !number.isNaN else { return nil }
            count = number
        case .null, .bool, .array, .object: return nil
        }
        let milliseconds = unit == .seconds ? count * 1000 : count
        return .milliseconds(Int64(min(max(milliseconds, 0), 1e15)))
    }
}
