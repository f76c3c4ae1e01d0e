import NightjarHTTP

/// The credentials of a client that has several, by the names of the security schemes that they are for: which of them a
/// request carries, and how.
///
/// Immutable; made with the client. A client of one login has none, and pays nothing.
final class SchemeCredentials: Sendable {
    /// What goes with one request.
    struct Choice {
        fileprivate var credentials: [Credential] = []

        /// The number of the client's login whose token goes along.
        var login: Int? { credentials.lazy.compactMap(\.login).first }
    }

    fileprivate struct Credential: Sendable {
        /// In Authorization; nil for a login, whose stage sends it, and for a key.
        var line: FieldLine?
        var key: APIKey?
        var login: Int?
        var usesAuthorization = false
    }

    private let credentials: ExactDictionary<Credential>
    private let names: [String]

    /// - Parameter inJar: names of schemes that are cookies, of a client that keeps those that servers set.
    /// - Throws: `invalid_argument` for credentials that cannot be sent, and where two logins would be kept in one place.
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
                    .invalidArgument, "the credentials for scheme \(quoted(name)) have schemes of their own")
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

    /// Each would take the other's token for its own.
    private static func checkStores(_ logins: [Login]) throws(NightjarError) {
        var owners = ExactDictionary<String>()
        for login in logins {
            guard let scheme = login.scheme, let store = login.tokenLogin?.store?.name, store != "memory" else {
                continue
            }
            if let owner = owners[store] {
                throw NightjarError(
                    .invalidArgument,
                    "the logins of the schemes \(quoted(owner)) and \(quoted(scheme)) are both kept in the \(store); give "
                        + "each a store of its own")
            }
            owners[store] = scheme
        }
    }

    /// Whether one of them is sent in Authorization.
    var useAuthorization: Bool { credentials.all.contains { $0.value.usesAuthorization } }

    // MARK: Choosing

    /// - Throws: `invalid_request`, naming the schemes, where there are credentials for no way in.
    func choice(for request: borrowing Request) throws(NightjarError) -> Choice {
        guard request.usesAuth else { return Choice() }
        if !request.schemes.isEmpty { return try choice(of: request.schemes) }
        guard let ways = request.security else { return Choice() }
        var clash: [String]?
        // Who has given credentials wants them sent where they serve, though there may be a way in without.
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
            "a login is required \(SecurityRequirement.text(ways)), and the client has credentials for "
                + "\(list); set them in its option auth.schemes")
    }

    /// What the caller has named.
    private func choice(of schemes: [String]) throws(NightjarError) -> Choice {
        var choice = Choice()
        for scheme in schemes {
            guard let credential = credentials[scheme] else {
                let near = nearestName(to: scheme, among: names).map { "did you mean \(quoted($0))?" }
                throw NightjarError(
                    .invalidRequest,
                    "the client has no credentials for the scheme \(quoted(scheme)); \(near ?? "it has some for \(list)")"
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
            "a login is required \(SecurityRequirement.text([SecurityRequirement(schemes.map { .init($0) })])), of which "
                + "more than one is sent in the header \"Authorization\", which a request has once")
    }

    private var list: String {
        guard !names.isEmpty else { return "none" }
        let shown = names.prefix(SchemeCredentials.maximumShown).map { quoted($0) }.joined(separator: ", ")
        return shown + (names.count > SchemeCredentials.maximumShown ? ", ..." : "")
    }

    /// The maximum number of origins listed in a message.
    private static let maximumShown = 8
}

extension SchemeCredentials.Choice {
    /// The request with what does not change. The caller answers for the origin.
    ///
    /// What the request has in such a place already stays as it is.
    func attached(to request: PreparedRequest) throws(NightjarError) -> PreparedRequest {
        var request = request
        for credential in credentials {
            if let key = credential.key { request = try key.attached(to: request) }
            if let line = credential.line, !request.hasField("Authorization") { request = request.adding(line) }
        }
        return request
    }
}
