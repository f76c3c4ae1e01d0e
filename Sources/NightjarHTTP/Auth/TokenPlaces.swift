/// Where the tokens are in the answer of a server that is no OAuth server, or not quite.
public struct TokenPlaces: Sendable, Equatable {
    public enum Expiry: Sendable, Equatable {
        /// Seconds from the answer on.
        case lifetime(JSONPointer)
        /// A moment: text as ISO 8601 has it, or seconds or milliseconds since 1970.
        case moment(JSONPointer)
    }

    public var access = JSONPointer(tokens: ["access_token"])
    public var refresh = JSONPointer(tokens: ["refresh_token"])
    public var expiry = Expiry.lifetime(JSONPointer(tokens: ["expires_in"]))
    /// The scheme of Authorization under which the server expects the token; Bearer where its response names none.
    public var type = JSONPointer(tokens: ["token_type"])
    public var scope = JSONPointer(tokens: ["scope"])

    public init() {}

    /// - Parameters:
    ///   - old: the token that was refreshed: what the answer leaves out stays as it was.
    ///   - now: when the request was sent.
    /// - Throws: `decoding` for an answer without a token where one should be; an error of the status for one that is about
    ///   the moment (429, 5xx and the like). Without a word of the answer: it may hold secrets.
    public func read(
        status: Int, body: UnsafeRawBufferPointer, replacing old: Token? = nil, at now: Timestamp
    ) throws(NightjarError) -> TokenResponse {
        guard body.count <= TokenResponse.largestBody else {
            throw NightjarError(.tooLarge, "the login's answer is larger than 1 MiB")
        }
        let json = try? JSONValue(parsing: body)
        guard 200..<300 ~= status else { return .refused(try refusal(status, json)) }
        guard let json else { throw NightjarError(.decoding, "the login was answered \(status) with no JSON") }
        guard let token = access.value(in: json)?.nonEmptyText else {
            if let code = json["error"]?.nonEmptyText { return .refused(TokenPlaces.refusal(code, json)) }
            throw NightjarError(
                .decoding, "the login's answer has no text at \(quoted(access.description)), where its token should be")
        }
        return .token(
            Token(
                access: token, refresh: refresh.value(in: json)?.nonEmptyText ?? old?.refresh,
                type: try type.value(in: json).tokenType(or: old?.type), expiry: end(in: json, now),
                scope: scope.value(in: json)?.nonEmptyText ?? old?.scope))
    }

    private func refusal(_ status: Int, _ json: JSONValue?) throws(NightjarError) -> TokenResponse.Refusal {
        switch status {
        case 401: return TokenPlaces.refusal("invalid_grant", json)
        // Without JSON it may be of something between us and the server, and ends no login.
        case 403: return TokenPlaces.refusal(json == nil ? "forbidden" : "invalid_grant", json)
        case 408, 425, 429, 500...:
            throw NightjarError(
                status == 429 ? .rateLimited : status >= 500 ? .server : .connectionLost,
                "the login was answered \(status)")
        case 400..<500:
            // Of another status nobody knows whether it is about the login or about how we ask.
            return TokenPlaces.refusal(json?["error"]?.nonEmptyText ?? "invalid_request", json)
        default: throw NightjarError(.protocol, "the login was answered \(status)")
        }
    }

    private static func refusal(_ code: String, _ json: JSONValue?) -> TokenResponse.Refusal {
        let text = ["error_description", "message", "detail"].lazy.compactMap { json?[$0]?.nonEmptyText }.first
        return TokenResponse.Refusal(code: code, description: text)
    }

    private func end(in json: JSONValue, _ now: Timestamp) -> Timestamp? {
        switch expiry {
        case .lifetime(let place):
            return place.value(in: json)?.lifetime.flatMap { now.later(by: $0) }
        case .moment(let place):
            switch place.value(in: json) {
            case .string(let text): return Timestamp(iso8601: text) ?? Int64(text).flatMap(TokenPlaces.moment)
            case .integer(let number): return TokenPlaces.moment(number)
            case .number(let number):
                return number.magnitude > Double(TokenPlaces.firstMilliseconds)
                    ? Timestamp(millisecondsSince1970: number) : Timestamp(secondsSince1970: number)
            default: return nil
            }
        }
    }

    /// As milliseconds the year 1973, as seconds 5138.
    private static let firstMilliseconds: Int64 = 100_000_000_000

    private static func moment(_ number: Int64) -> Timestamp? {
        number.magnitude > firstMilliseconds.magnitude
            ? Timestamp(millisecondsSince1970: number) : Timestamp(secondsSince1970: number)
    }
}
