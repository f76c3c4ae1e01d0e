import NightjarAPI
import NightjarHTTP

// Derives the client's option `auth` from the API's security schemes.

extension Catalog {
    /// Returns the option `auth` of a client, built from the caller's credentials (`{token=}`, `{user=, password=}`,
    /// `{key=}`, `{client_id=, client_secret=}`, ...) and the security scheme that uses them. Options that have a type,
    /// or are not a table, are returned unchanged. In `{schemes = {name = {...}, ...}}`, each member is converted.
    ///
    /// An OAuth 2.0 login requests all scopes that the endpoints name for its scheme (RFC 6749 section 3.3). If the
    /// flow lists scopes, other scopes are omitted. A `scope` in `given`, even if it is empty, replaces these scopes.
    ///
    /// - Parameters:
    ///   - scheme: The name of the scheme. Nil: `given.scheme`, or else the scheme that accepts the given credentials,
    ///     or else the only scheme.
    ///   - base: The base URL of the client. Nil: the first server of the API.
    /// - Throws: `invalid_argument` with a list of the schemes if several schemes exist and not exactly one matches;
    ///   `invalid_argument` for an unknown or unsupported scheme, and if the description sends secrets without TLS or
    ///   to an origin other than the API's and `given` has no `token_url`.
    public func authOptions(
        scheme: String? = nil, base: String? = nil, _ given: JSONValue
    ) throws(NightjarError) -> JSONValue {
        guard case .object(var members) = given, given["type"] == nil else { return given }
        if let schemes = given["schemes"] { return .object(try replacing(schemes, in: members, base: base)) }
        var name = scheme
        if let schemeName = given["scheme"] {
            let text = try schemeName.text("auth.scheme")
            name = name ?? text
            members.removeAll { $0.name == "scheme" }
        }
        let credentials = Credentials(members: members)
        let found = try self.scheme(name, for: credentials)
        let origin = try (base ?? servers.first).map { url throws(NightjarError) in try RequestURL(url).origin }
        return .object(try found.options(credentials, scopes(of: found.name), api: origin))
    }

    private func replacing(
        _ schemes: JSONValue, in options: [JSONValue.Member], base: String?
    ) throws(NightjarError) -> [JSONValue.Member] {
        guard case .object(var members) = schemes else { return options }
        for index in members.indices {
            members[index].value = try authOptions(scheme: members[index].name, base: base, members[index].value)
        }
        return options.map { $0.name == "schemes" ? .init("schemes", .object(members)) : $0 }
    }

    private func scheme(_ name: String?, for credentials: Credentials) throws(NightjarError) -> SecurityScheme {
        guard !security.isEmpty else {
            throw NightjarError(
                .invalidArgument, "the API description has no security schemes; set the type of option \"auth\"")
        }
        if let name {
            let named = security.filter { $0.name.isExactly(name) }
            guard !named.isEmpty else {
                let near = nearestName(to: name, among: security.map(\.name)).map { "; did you mean \(quoted($0))?" }
                throw NightjarError(
                    .invalidArgument,
                    "the API has no security scheme \(quoted(name))"
                        + (near ?? "; it has \(SecurityScheme.list(security))"))
            }
            // One scheme can have several flows.
            return named.first { $0.takes(credentials) } ?? named[0]
        }
        let fitting = security.filter { $0.takes(credentials) }
        let names = fitting.reduce(into: [String]()) { names, scheme in
            if !names.contains(where: { $0.isExactly(scheme.name) }) { names.append(scheme.name) }
        }
        if names.count == 1 { return fitting[0] }
        if security.allSatisfy({ $0.name.isExactly(security[0].name) }) { return security[0] }
        throw NightjarError(
            .invalidArgument,
            "the API has several security schemes: \(SecurityScheme.list(security)); choose one with \"scheme\"")
    }
}

/// The caller's credentials.
private struct Credentials {
    let members: [JSONValue.Member]

    func has(_ name: String) -> Bool { members.contains { $0.name == name } }
}

extension SecurityScheme {
    fileprivate static func list(_ schemes: [SecurityScheme]) -> String {
        schemes.prefix(16).map { "\(quoted($0.name)) (\($0.kindName))" }.joined(separator: ", ")
    }

    private var kindName: String {
        switch kind {
        case .bearer: "bearer"
        case .basic: "basic"
        case .digest: "digest"
        case .apiKey(let name, let place): "API key \(quoted(name)) \(place.phrase)"
        case .oauth2(let flow, _, _, _): "OAuth 2 \(flow.rawValue)"
        case .other(let what): what
        }
    }

    fileprivate func takes(_ given: Credentials) -> Bool {
        switch kind {
        case .bearer: given.has("token")
        case .basic, .digest: given.has("user")
        case .apiKey: given.has("key")
        case .oauth2(let flow, _, _, _):
            switch flow {
            case .clientCredentials: given.has("client_secret") && !given.has("refresh_token")
            case .authorizationCode: given.has("client_id") || given.has("refresh_token") || given.has("token")
            case .implicit, .password: given.has("token") || given.has("access_token")
            }
        case .other: given.has("token")
        }
    }

    /// - Parameters:
    ///   - scopes: The scopes that the endpoints require.
    ///   - api: The origin of the API; nil if it is not known.
    fileprivate func options(
        _ given: Credentials, _ scopes: [String], api: Origin?
    ) throws(NightjarError) -> [JSONValue.Member] {
        var members = given.members
        func add(_ name: String, _ value: String?) {
            guard let value, !given.has(name) else { return }
            members.append(.init(name, .string(value)))
        }
        switch kind {
        case .bearer: add("type", "bearer")
        case .basic: add("type", "basic")
        case .digest: add("type", "digest")
        case .apiKey(let name, let place):
            add("type", "api_key")
            switch place {
            case .query: add("query", name)
            case .header, .path: add("header", name)
            case .cookie: add("cookie", name)
            }
        case .oauth2 where given.has("token"): add("type", "bearer")
        case .oauth2(let flow, let authorizationURL, let tokenURL, let offered):
            guard flow == .clientCredentials || flow == .authorizationCode || given.has("refresh_token") else {
                throw NightjarError(
                    .invalidArgument,
                    "the security scheme \(quoted(name)) uses the OAuth 2 flow \(flow.rawValue), which is deprecated "
                        + "(RFC 9700 section 2); set an existing token (token=)")
            }
            add("type", "oauth2")
            if !given.has("token_url") { add("token_url", try guarded(tokenURL, api: api)) }
            if flow == .clientCredentials { add("grant", "client_credentials") }
            if flow == .authorizationCode, !given.has("refresh_token") { add("grant", "authorization_code") }
            if flow == .authorizationCode {
                if !given.has("authorize_url") { add("authorize_url", try guarded(authorizationURL)) }
            }
            if !given.has("scope") { add("scope", try scope(scopes, of: offered.map(\.name))) }
        case .other where given.has("token"): add("type", "bearer")
        case .other(let what):
            throw NightjarError(
                .invalidArgument,
                "the security scheme \(quoted(name)) has the type \(quoted(what)), which is not supported; set an "
                    + "existing "
                    + "token (token=) or the type of option \"auth\"")
        }
        return members
    }

    /// Returns the scopes to request. Scopes that the flow does not list are omitted, because a server may reject
    /// unknown scopes.
    private func scope(_ scopes: [String], of offered: [String]) throws(NightjarError) -> String? {
        let offered = Set(offered)
        let requested = offered.isEmpty ? scopes : scopes.filter(offered.contains)
        guard requested.count <= Catalog.maximumScopes else {
            throw NightjarError(
                .invalidArgument,
                "the endpoints require more than \(Catalog.maximumScopes) scopes of the security scheme "
                    + "\(quoted(name)); set "
                    + "\"scope\" to the scopes you need")
        }
        return requested.isEmpty ? nil : requested.joined(separator: " ")
    }

    /// Checks the URL of an endpoint that receives secrets. RFC 6749 (sections 3.1 and 3.2) requires TLS. A loopback
    /// address does not need TLS. URLs set by the caller are not checked.
    ///
    /// - Parameter api: The only origin that may receive secrets without the caller's permission; nil: any origin.
    private func guarded(_ url: String?, api: Origin? = nil) throws(NightjarError) -> String? {
        guard let url else { return nil }
        let origin = try RequestURL(url).origin
        if let api, api != origin {
            throw NightjarError(
                .invalidArgument,
                "the security scheme \(quoted(name)) sends its secrets to \(quoted(origin.description)), which is "
                    + "not the API's origin (\(quoted(api.description))); set token_url if this is intended")
        }
        guard origin.isTLS || origin.isLoopback else {
            throw NightjarError(
                .invalidArgument,
                "the security scheme \(quoted(name)) sends its secrets to \(quoted(origin.description)) without "
                    + "TLS; set "
                    + "token_url (and authorize_url) if this is intended")
        }
        return url
    }
}
