import NIOCore
import NIOHTTP1

/// `/v1/oauth/token` (RFC 6749 section 3.2): exchanges a grant for tokens.
///
/// Besides the parameters of each grant, accepts `expires_in`: the lifetime of the access tokens in seconds.
struct TokenEndpoint {
    let tokens: Tokens
    let refreshes: Refreshes
    let devices: DeviceCodes
    let codes: AuthorizationCodes

    func add(to router: inout Router) {
        router.on(.POST, "/v1/oauth/token", respond)
    }

    private func respond(_ request: Request) throws(Problem) -> Response {
        let parameters = try Parameters(request)
        let lifetime = try parameters.seconds("expires_in", atMost: Tokens.lifetimeLimit, or: Tokens.defaultLifetime)
        tokens.note(scope: parameters["scope"])
        let client: OAuthClient.Identification
        do throws(OAuthError) {
            client = try OAuthClient.identify(request, parameters)
            switch parameters["grant_type"] {
            case "refresh_token":
                break
            case "client_credentials":
                guard case .authenticated = client else {
                    throw OAuthError(.invalidClient, "the client must authenticate")
                }
                return tokens.grantToClient(lifetime: lifetime).response
            case "urn:ietf:params:oauth:grant-type:device_code":
                try requireName(client)
                let user = try devices.redeem(try required("device_code", parameters), now: .now())
                return tokens.login(user, lifetime: lifetime).grant.response
            case "authorization_code":
                try requireName(client)
                return try exchange(parameters, lifetime: lifetime)
            case nil:
                throw OAuthError(.invalidRequest, "grant_type is required")
            case let type?:
                throw OAuthError(.unsupportedGrantType, "\"\(type)\" is not a supported grant")
            }
        } catch {
            return error.response
        }
        return try refreshes.respond(request, parameters)
    }

    private func exchange(_ parameters: Parameters, lifetime: Double) throws(OAuthError) -> Response {
        let code = try required("code", parameters)
        switch codes.redeem(
            code, redirectURI: try required("redirect_uri", parameters),
            verifier: try required("code_verifier", parameters), now: .now())
        {
        case .granted(let user):
            let (family, grant) = tokens.login(user, lifetime: lifetime)
            codes.note(family, of: code)
            return grant.response
        case .repeated(let family):
            // The code is used a second time, so it may have been stolen (RFC 6749 section 4.1.2).
            if let family { tokens.end(family) }
            throw OAuthError(.invalidGrant, "the code was redeemed before; its login has been ended")
        case .refused(let reason):
            throw OAuthError(.invalidGrant, reason)
        }
    }

    private func requireName(_ client: OAuthClient.Identification) throws(OAuthError) {
        if case .nobody = client { throw OAuthError(.invalidRequest, "client_id is required") }
    }

    private func required(_ name: String, _ parameters: Parameters) throws(OAuthError) -> String {
        guard let value = parameters[name], !value.isEmpty else {
            throw OAuthError(.invalidRequest, "\(name) is required")
        }
        return value
    }
}
