import NIOHTTP1

/// An error response of an OAuth endpoint (RFC 6749 section 5.2, RFC 8628 section 3.5).
struct OAuthError: Error {
    enum Code: String {
        case invalidRequest = "invalid_request"
        case invalidClient = "invalid_client"
        case invalidGrant = "invalid_grant"
        case unsupportedGrantType = "unsupported_grant_type"
        case unsupportedResponseType = "unsupported_response_type"
        case authorizationPending = "authorization_pending"
        case slowDown = "slow_down"
        case accessDenied = "access_denied"
        case expiredToken = "expired_token"
    }

    let code: Code
    let description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    var response: Response {
        let status: HTTPResponseStatus = code == .invalidClient ? .unauthorized : .badRequest
        var response = Response.json(
            ["error": .string(code.rawValue), "error_description": .string(description)], status: status)
        response.headers.add(name: "Cache-Control", value: "no-store")
        if code == .invalidClient {
            response.headers.add(name: "WWW-Authenticate", value: "Basic realm=\"\(Protected.realm)\"")
        }
        return response
    }
}

extension Tokens.Grant {
    /// The body of a successful response (RFC 6749 section 5.1).
    var json: JSON {
        var members: [JSON.Member] = [
            .init(name: "access_token", value: .string(accessToken)),
            .init(name: "token_type", value: "Bearer"),
            .init(name: "expires_in", value: .seconds(lifetime)),
        ]
        if let refreshToken { members.append(.init(name: "refresh_token", value: .string(refreshToken))) }
        return .object(members)
    }

    var response: Response { Response.grant(json) }
}

extension Response {
    static func grant(_ document: JSON) -> Response {
        var response = Response.json(document)
        response.headers.add(name: "Cache-Control", value: "no-store")
        return response
    }
}
