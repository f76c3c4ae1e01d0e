import NightjarHTTP

/// A client's credentials, keyed by security scheme name. Selects the credentials of each request.
///
/// Immutable, and created with the client. A client whose credentials have no scheme names has no instance.
final class SchemeCredentials: Sendable {
    /// The credentials of one request.
    struct Choice {
        fileprivate var credentials: [Credential] = []

        /// The number of the client's login whose credentials are sent; nil: none.
        var login: Int? { credentials.lazy.compactMap(\.login).first }
    }

    fileprivate struct Credential: Sendable {
        /// The Authorization field. Nil for a login, whose stage adds it, and for an API key.
        var line: FieldLine?
        var key: APIKey?
        var login: Int?
        var usesAuthorization = false
    }

    private let credentials: ExactDictionary<Credential>
    private let names: [String]

    /// - Parameter inJar: The names of the API key schemes whose key is a cookie that the client's cookie jar sends.
    /// - Throws: `invalid_argument` if credentials cannot be sent, or if two logins use the same store.
    init(_ schemes: ExactDictionary<Authentication>, _ logins: [Login], inJar: [String]) throws(NightjarError) {
        names = schemes.names
        var credentials = ExactDictionary<Credential>()
        for name in inJar { credentials[name] = Credential() }
        for name in names {
            guard let auth = schemes[name] else { continue }
            var credential = Credential()
            credential.usesAuthorization = auth.usesAuthorization
            credential.login = logins.firstIndex { $0.scheme?.isExactly(name) == true }
            switch auth {
            case .apiKey(let key): credential.key = key
            case .schemes:
                throw NightjarError(
                    .invalidArgument,
                    "the credentials for scheme \(quoted(name)) contain nested schemes, which "
                        + "are not allowed")
            case .bearer, .basic, .digest, .login:
                credential.line = try auth.field().map { field throws(NightjarError) in
                    try FieldLine(field.name, field.value)
                }
            }
            credentials[name] = credential
        }
        self.credentials = credentials
        try SchemeCredentials.checkStores(logins)
    }

    /// Rejects logins that share a store, because each login would use the other's token.
    private static func checkStores(_ logins: [Login]) throws(NightjarError) {
        var owners = ExactDictionary<String>()
        for login in logins {
            guard let scheme = login.scheme, let store = login.tokenLogin?.store?.name, store != "memory" else {
                continue
            }
            if let owner = owners[store] {
                throw NightjarError(
                    .invalidArgument,
                    "the logins of the schemes \(quoted(owner)) and \(quoted(scheme)) share the \(store); give "
                        + "each login its own store")
            }
            owners[store] = scheme
        }
    }

    /// Whether any credentials are sent in the Authorization field.
    var useAuthorization: Bool { credentials.all.contains { $0.value.usesAuthorization } }

    // MARK: Choosing

    /// Returns the credentials of a request.
    ///
    /// - Throws: `invalid_request` with the names of the schemes if credentials are missing, or if two of the schemes
    ///   use the Authorization field.
    func choice(for request: borrowing Request) throws(NightjarError) -> Choice {
        guard request.usesAuth else { return Choice() }
        if !request.schemes.isEmpty { return try choice(of: request.schemes) }
        guard let ways = request.security else { return Choice() }
        var clash: [String]?
        // If credentials are configured, they are sent even if the operation also allows anonymous requests.
        for way in ways where !way.schemes.isEmpty {
            let found = way.schemes.compactMap { credentials[$0.name] }
            guard found.count == way.schemes.count else { continue }
            guard found.count(where: \.usesAuthorization) < 2 else {
                clash = clash ?? way.schemes.map(\.name)
                continue
            }
            return Choice(credentials: found)
        }
        if ways.isEmpty || ways.contains(where: \.schemes.isEmpty) || request.carriesCredentials { return Choice() }
        if let clash { throw SchemeCredentials.clash(clash) }
        throw NightjarError(
            .invalidRequest,
            "authentication is required \(SecurityRequirement.text(ways)), and the client has credentials for "
                + "\(list); set the required credentials in the option auth.schemes")
    }

    /// The credentials that the caller listed.
    private func choice(of schemes: [String]) throws(NightjarError) -> Choice {
        var choice = Choice()
        for scheme in schemes {
            guard let credential = credentials[scheme] else {
                let near = nearestName(to: scheme, among: names).map { "did you mean \(quoted($0))?" }
                throw NightjarError(
                    .invalidRequest,
                    "the client has no credentials for the scheme \(quoted(scheme)); "
                        + "\(near ?? "it has credentials for \(list)")"
                )
            }
            choice.credentials.append(credential)
        }
        guard choice.credentials.count(where: \.usesAuthorization) < 2 else { throw SchemeCredentials.clash(schemes) }
        return choice
    }

    private static func clash(_ schemes: [String]) -> NightjarError {
        NightjarError(
            .invalidRequest,
            "authentication is required \(SecurityRequirement.text([SecurityRequirement(schemes.map { .init($0) })])), "
                + "but more than one of these schemes uses the header \"Authorization\", which a request can have only once"
        )
    }

    private var list: String {
        guard !names.isEmpty else { return "none" }
        let shown = names.prefix(SchemeCredentials.maximumShown).map { quoted($0) }.joined(separator: ", ")
        return shown + (names.count > SchemeCredentials.maximumShown ? ", ..." : "")
    }

    /// The number of scheme names shown in a message.
    private static let maximumShown = 8
}

extension SchemeCredentials.Choice {
    /// Adds the credentials that do not change. The caller must have checked the origin.
    ///
    /// A field or parameter that the request already has is kept.
    func attached(to request: PreparedRequest) throws(NightjarError) -> PreparedRequest {
        var request = request
        for credential in credentials {
            if let key = credential.key { request = try key.attached(to: request) }
            if let line = credential.line, !request.hasField("Authorization") { request = request.adding(line) }
        }
        return request
    }
}
