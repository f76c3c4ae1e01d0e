/// The locations of the tokens in a login response whose format may differ from OAuth.
public struct TokenPointers: Sendable, Equatable {
    /// The location of the expiry of a token, and its form.
    public enum Expiry: Sendable, Equatable {
        /// The lifetime in ``TokenPointers/lifetimeUnit``, counted from the time at which the request was sent.
        case lifetime(JSONPointer)
        /// A timestamp: ISO 8601 text, or seconds or milliseconds since 1970.
        case moment(JSONPointer)
    }

    public var access = JSONPointer(tokens: ["access_token"])
    public var refresh = JSONPointer(tokens: ["refresh_token"])
    public var expiry = Expiry.lifetime(JSONPointer(tokens: ["expires_in"]))
    /// The unit of ``Expiry/lifetime(_:)``.
    public var lifetimeUnit = TokenLifetimeUnit.seconds
    /// The location of the Authorization scheme for the token. If the response contains none, the scheme is that of the
    /// refreshed token, or Bearer.
    public var type = JSONPointer(tokens: ["token_type"])
    public var scope = JSONPointer(tokens: ["scope"])

    public init() {}

    /// Reads a login response.
    ///
    /// - Parameters:
    ///   - old: the token that was refreshed. Its refresh token, type and scope are used if the response lacks them.
    ///   - now: the time at which the request was sent.
    /// - Throws: `decoding` if a successful response is not JSON, contains neither a token nor an `error`, or has an
    ///   invalid token type; `too_large` if the response exceeds 1 MiB; `rate_limited`, `connection_lost`, `server` or
    ///   `protocol` for a status that is neither a success nor a refusal. Messages do not quote the response, which may
    ///   contain secrets.
    public func read(
        status: Int, body: UnsafeRawBufferPointer, replacing old: Token? = nil, at now: Timestamp
    ) throws(NightjarError) -> TokenResponse {
        guard body.count <= TokenResponse.largestBody else {
            throw NightjarError(.tooLarge, "the login response is larger than 1 MiB")
        }
        let json = try? JSONValue(parsing: body)
        guard 200..<300 ~= status else { return .refused(try refusal(status, json)) }
        guard let json else {
            throw NightjarError(.decoding, "the login response has status \(status), but its body is not JSON")
        }
        guard let token = access.value(in: json)?.nonEmptyText else {
            if let code = json["error"]?.nonEmptyText { return .refused(TokenPointers.refusal(code, json)) }
            throw NightjarError(
                .decoding,
                "the login response has no token at \(quoted(access.description)): expected a non-empty string")
        }
        return .token(
            Token(
                access: token, refresh: refresh.value(in: json)?.nonEmptyText ?? old?.refresh,
                type: try type.value(in: json).tokenType(or: old?.type), expiry: end(in: json, now),
                scope: scope.value(in: json)?.nonEmptyText ?? old?.scope))
    }

    private func refusal(_ status: Int, _ json: JSONValue?) throws(NightjarError) -> TokenResponse.Refusal {
        switch status {
        case 401: return TokenPointers.refusal("invalid_grant", json)
        // A 403 without JSON may come from an intermediary, so it does not end the login.
        case 403: return TokenPointers.refusal(json == nil ? "forbidden" : "invalid_grant", json)
        case 408, 425, 429, 500...:
            throw NightjarError(
                status == 429 ? .rateLimited : status >= 500 ? .server : .connectionLost,
                "the login response has status \(status)")
        case 400..<500:
            // Other statuses may report an invalid request, so they do not end the login unless the body contains
            // invalid_grant.
            return TokenPointers.refusal(json?["error"]?.nonEmptyText ?? "invalid_request", json)
        default:
            throw NightjarError(
                .protocol, "the login response has status \(status), which is neither a success nor a refusal")
        }
    }

    private static func refusal(_ code: String, _ json: JSONValue?) -> TokenResponse.Refusal {
        let text = ["error_description", "message", "detail"].lazy.compactMap { json?[$0]?.nonEmptyText }.first
        return TokenResponse.Refusal(code: code, description: text)
    }

    private func end(in json: JSONValue, _ now: Timestamp) -> Timestamp? {
        switch expiry {
        case .lifetime(let place):
            return place.value(in: json)?.lifetime(in: lifetimeUnit).flatMap { now.later(by: $0) }
        case .moment(let place):
            switch place.value(in: json) {
            case .string(let text): return Timestamp(iso8601: text) ?? Int64(text).flatMap(TokenPointers.moment)
            case .integer(let number): return TokenPointers.moment(number)
            case .number(let number):
                return number.magnitude > Double(TokenPointers.firstMilliseconds)
                    ? Timestamp(millisecondsSince1970: number) : Timestamp(secondsSince1970: number)
            default: return nil
            }
        }
    }

    /// The threshold between seconds and milliseconds: the year 1973 in milliseconds, 5138 in seconds.
    private static let firstMilliseconds: Int64 = 100_000_000_000

    private static func moment(_ number: Int64) -> Timestamp? {
        number.magnitude > firstMilliseconds.magnitude
            ? Timestamp(millisecondsSince1970: number) : Timestamp(secondsSince1970: number)
    }
}
