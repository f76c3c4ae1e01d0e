import NightjarHTTP
import NightjarStorage

extension Authentication {
    /// Reads `{type=, ...}`, where the type determines the other members, or `{schemes = {name = {type=, ...}, ...}}`.
    static func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> Authentication? {
        switch value {
        case .null, .bool(false): return nil
        case .object: break
        default: throw .mismatch(path, expected: "false or a table with a type", value)
        }
        if let schemes = value["schemes"], value["type"] == nil { return try read(schemes: schemes, value, path) }
        guard let type = value["type"] else {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path)) has no type; the known types are "
                    + "\(AuthType.names)")
        }
        let name = try type.text("\(path).type")
        guard let type = AuthType(rawValue: name) else {
            let hint = nearestName(to: name, among: AuthType.allCases.map(\.rawValue)).map {
                "; did you mean \"\($0)\"?"
            }
            throw NightjarError(
                .invalidArgument,
                "option \(quoted(path + ".type")) is \(quoted(name))"
                    + (hint ?? "; the known types are \(AuthType.names)"))
        }
        return try type.read(value, path)
    }

    /// - Parameter schemes: The member `schemes` of `value`, which must have no other members.
    private static func read(
        schemes: JSONValue, _ value: JSONValue, _ path: String
    ) throws(NightjarError) -> Authentication {
        if case .object(let members) = value, let other = members.first(where: { $0.name != "schemes" }) {
            throw NightjarError(
                .invalidArgument,
                "option \(quoted("\(path).\(other.name)")) cannot be combined with \(quoted("\(path).schemes"))")
        }
        guard case .object(let members) = schemes, !members.isEmpty else {
            throw .mismatch(
                "\(path).schemes", expected: "a table of credentials by security scheme name", schemes)
        }
        var read = ExactDictionary<Authentication>()
        for member in members {
            read[member.name] = try Authentication.read(member.value, "\(path).schemes.\(member.name)")
        }
        return .schemes(read)
    }
}

private enum AuthType: String, CaseIterable {
    case bearer, basic, digest, oauth2, login
    case apiKey = "api_key"

    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

    func read(_ value: JSONValue, _ path: String) throws(NightjarError) -> Authentication {
        switch self {
        case .bearer:
            let choice = try BearerChoice.options.applied(value, at: path, to: BearerChoice())
            return .bearer(try choice.token.required("\(path).token"))
        case .basic, .digest:
            let choice = try PasswordChoice.options.applied(value, at: path, to: PasswordChoice())
            let user = try choice.user.required("\(path).user")
            let password = try choice.password.required("\(path).password")
            return self == .basic ? .basic(user: user, password: password) : .digest(user: user, password: password)
        case .apiKey:
            let choice = try APIKeyChoice.options.applied(value, at: path, to: APIKeyChoice())
            return .apiKey(
                try APIKey(try choice.key.required("\(path).key"), in: choice.place, prefix: choice.prefix))
        case .oauth2:
            let choice = try OAuthChoice.options.applied(value, at: path, to: OAuthChoice())
            return .login(try choice.login(path))
        case .login:
            let choice = try LoginChoice.options.applied(value, at: path, to: LoginChoice())
            return .login(try choice.login(path))
        }
    }
}

extension Authentication {
    /// Reads the option `auth` of a client. Nil: no authentication.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument`; `storage` if a store's key cannot be read.
    public init?(json: UnsafeRawBufferPointer) throws(NightjarError) {
        guard let auth = try Authentication.read(try JSONValue(parsing: json), "auth") else { return nil }
        self = auth
    }
}

extension Optional {
    fileprivate func required(_ path: String) throws(NightjarError) -> Wrapped {
        guard let self else { throw NightjarError(.invalidArgument, "option \(quoted(path)) is missing") }
        return self
    }
}

/// Returns an option `type` without effect, because the type has already been read.
private func typeOption<Target>() -> Option<Target> {
    Option(name: "type") { _, _, _ throws(NightjarError) in }
}

private struct BearerChoice {
    var token: String?

    static let options = OptionTable<BearerChoice>([
        typeOption(),
        Option(name: "token") { value, path, choice throws(NightjarError) in choice.token = try value.text(path) },
    ])
}

private struct PasswordChoice {
    var user: String?
    var password: String?

    static let options = OptionTable<PasswordChoice>([
        typeOption(),
        Option(name: "user") { value, path, choice throws(NightjarError) in choice.user = try value.text(path) },
        Option(name: "password") { value, path, choice throws(NightjarError) in
            choice.password = try value.text(path)
        },
    ])
}

private struct APIKeyChoice {
    var key: String?
    var place = APIKey.Place.header("X-Api-Key")
    var prefix = ""

    static let options = OptionTable<APIKeyChoice>([
        typeOption(),
        Option(name: "key") { value, path, choice throws(NightjarError) in choice.key = try value.text(path) },
        Option(name: "header") { value, path, choice throws(NightjarError) in
            choice.place = .header(try value.text(path))
        },
        Option(name: "query") { value, path, choice throws(NightjarError) in
            choice.place = .query(try value.text(path))
        },
        Option(name: "cookie") { value, path, choice throws(NightjarError) in
            choice.place = .cookie(try value.text(path))
        },
        Option(name: "prefix") { value, path, choice throws(NightjarError) in choice.prefix = try value.text(path) },
    ])
}

/// The options of all logins with an expiring token.
private struct TokenChoice {
    var access: String?
    var refresh: String?
    var expiry: Timestamp?
    var store = StoreChoice()
    var settings = TokenRefresh.Settings()

    static let options = OptionTable<TokenChoice>([
        Option(name: "access_token") { value, path, choice throws(NightjarError) in
            choice.access = try value.text(path)
        },
        Option(name: "refresh_token") { value, path, choice throws(NightjarError) in
            choice.refresh = try value.text(path)
        },
        Option(name: "expires_in") { value, path, choice throws(NightjarError) in
            choice.expiry = WallClock.now().later(by: try value.duration(path))
        },
        Option(name: "store") { value, path, choice throws(NightjarError) in
            choice.store = try StoreChoice.read(value, path)
        },
        Option(name: "skew") { value, path, choice throws(NightjarError) in
            choice.settings.skew = try value.duration(path)
        },
        Option(name: "refresh_timeout") { value, path, choice throws(NightjarError) in
            choice.settings.timeout = try value.duration(path)
        },
        Option(name: "refresh_limit") { value, path, choice throws(NightjarError) in
            choice.settings.refreshLimit = try value.count(path, in: 1...1_000_000)
        },
    ])

    /// - Parameter account: The default account in the store.
    func login(_ source: TokenLogin.Source, account: String) throws(NightjarError) -> TokenLogin {
        var login = TokenLogin(source)
        // Without an access token, the refresh token is used as if the access token had expired.
        if access != nil || refresh != nil {
            login.token = Token(access: access ?? "", refresh: refresh, expiry: access == nil ? .epoch : expiry)
        }
        login.store = try store.open(account: account)
        login.refresh = settings
        return login
    }
}

private struct OAuthChoice {
    var token = TokenChoice()
    var server = OAuth2(tokenURL: "")
    var id: String?
    var secret: String?
    var authentication: String?

    static let options = OptionTable<OAuthChoice>(
        TokenChoice.options.lifted(to: \.token) + [
            typeOption(),
            Option(name: "token_url") { value, path, choice throws(NightjarError) in
                choice.server.tokenURL = try value.text(path)
            },
            Option(name: "client_id") { value, path, choice throws(NightjarError) in choice.id = try value.text(path) },
            Option(name: "client_secret") { value, path, choice throws(NightjarError) in
                choice.secret = try value.text(path)
            },
            Option(name: "client_auth") { value, path, choice throws(NightjarError) in
                choice.authentication = try value.word(path, ["basic", "post"])
            },
            Option(name: "grant") { value, path, choice throws(NightjarError) in
                let word = try value.word(
                    path, ["refresh_token", "client_credentials", "device_code", "authorization_code"])
                switch word {
                case "client_credentials": choice.server.grant = .clientCredentials
                case "device_code": choice.server.grant = .deviceCode
                case "authorization_code": choice.server.grant = .authorizationCode
                default: choice.server.grant = .refreshToken
                }
            },
            Option(name: "device_url") { value, path, choice throws(NightjarError) in
                choice.server.deviceURL = try value.text(path)
            },
            Option(name: "authorize_url") { value, path, choice throws(NightjarError) in
                choice.server.authorizeURL = try value.text(path)
            },
            Option(name: "issuer") { value, path, choice throws(NightjarError) in
                choice.server.issuer = try value.text(path)
            },
            Option(name: "lifetime_unit") { value, path, choice throws(NightjarError) in
                choice.server.lifetimeUnit = try value.lifetimeUnit(path)
            },
            Option(name: "scope") { value, path, choice throws(NightjarError) in
                let scope = try value.text(path)
                choice.server.scope = scope.isEmpty ? nil : scope
            },
        ])

    func login(_ path: String) throws(NightjarError) -> TokenLogin {
        var server = server
        guard !server.tokenURL.isEmpty else {
            throw NightjarError(.invalidArgument, "option \(quoted(path + ".token_url")) is missing")
        }
        switch (id, secret, authentication) {
        case (.some(let id), .some(let secret), "post"): server.client = .post(id: id, secret: secret)
        case (.some(let id), .some(let secret), _): server.client = .basic(id: id, secret: secret)
        case (.some(let id), nil, _): server.client = .none(id: id)
        case (nil, .some, _): throw NightjarError(.invalidArgument, "option \(quoted(path + ".client_id")) is missing")
        case (nil, nil, _): server.client = .unnamed
        }
        switch server.grant {
        case .deviceCode where server.deviceURL == nil:
            throw NightjarError(.invalidArgument, "option \(quoted(path + ".device_url")) is missing")
        case .authorizationCode where server.authorizeURL == nil:
            throw NightjarError(.invalidArgument, "option \(quoted(path + ".authorize_url")) is missing")
        case .clientCredentials where secret == nil:
            throw NightjarError(.invalidArgument, "option \(quoted(path + ".client_secret")) is missing")
        default: break
        }
        return try token.login(.oauth2(server), account: "\(server.tokenURL) \(id ?? "")")
    }
}

private struct LoginChoice {
    var token = TokenChoice()
    var target: String?
    var method = Method.post
    var body: LoginCall.Body?
    var places = TokenPointers()
    var refresh: RefreshChoice?

    static let options = OptionTable<LoginChoice>(
        TokenChoice.options.lifted(to: \.token) + PlacesChoice.options.lifted(to: \.places) + [
            typeOption(),
            Option(name: "url") { value, path, choice throws(NightjarError) in choice.target = try value.text(path) },
            Option(name: "method") { value, path, choice throws(NightjarError) in
                choice.method = try value.method(path)
            },
            Option(name: "json") { value, _, choice throws(NightjarError) in choice.body = .json(value) },
            Option(name: "form") { value, path, choice throws(NightjarError) in
                choice.body = .form(try value.pairs(path))
            },
            Option(name: "refresh") { value, path, choice throws(NightjarError) in
                choice.refresh = try RefreshChoice.options.applied(value, at: path, to: RefreshChoice())
            },
        ])

    func login(_ path: String) throws(NightjarError) -> TokenLogin {
        var call = LoginCall(try target.required("\(path).url"), try body.required("\(path).json"))
        (call.method, call.places) = (method, places)
        var refreshCall: RefreshCall?
        if let refresh {
            var again = RefreshCall(try refresh.target.required("\(path).refresh.url"), refresh.body)
            (again.method, again.tokenPlace) = (refresh.method, refresh.tokenPlace)
            again.places = places
            refreshCall = again
        }
        return try token.login(.call(call, refresh: refreshCall), account: call.target)
    }
}

private struct RefreshChoice {
    var target: String?
    var method = Method.post
    var body = LoginCall.Body.json(.object([]))
    var tokenPlace = RefreshCall("").tokenPlace

    static let options = OptionTable<RefreshChoice>([
        Option(name: "url") { value, path, choice throws(NightjarError) in choice.target = try value.text(path) },
        Option(name: "method") { value, path, choice throws(NightjarError) in choice.method = try value.method(path) },
        Option(name: "json") { value, _, choice throws(NightjarError) in choice.body = .json(value) },
        Option(name: "form") { value, path, choice throws(NightjarError) in
            choice.body = .form(try value.pairs(path))
        },
        Option(name: "token") { value, path, choice throws(NightjarError) in
            choice.tokenPlace = try value.pointer(path)
        },
    ])
}

/// The options whose values are JSON Pointers (RFC 6901) into the token response.
private enum PlacesChoice {
    static let options = OptionTable<TokenPointers>([
        Option(name: "access_token_pointer") { value, path, places throws(NightjarError) in
            places.access = try value.pointer(path)
        },
        Option(name: "refresh_token_pointer") { value, path, places throws(NightjarError) in
            places.refresh = try value.pointer(path)
        },
        Option(name: "lifetime") { value, path, places throws(NightjarError) in
            places.expiry = .lifetime(try value.pointer(path))
        },
        Option(name: "lifetime_unit") { value, path, places throws(NightjarError) in
            places.lifetimeUnit = try value.lifetimeUnit(path)
        },
        Option(name: "expiry") { value, path, places throws(NightjarError) in
            places.expiry = .moment(try value.pointer(path))
        },
        Option(name: "token_type") { value, path, places throws(NightjarError) in
            places.type = try value.pointer(path)
        },
    ])
}

extension JSONValue {
    fileprivate func lifetimeUnit(_ path: String) throws(NightjarError) -> TokenLifetimeUnit {
        TokenLifetimeUnit(rawValue: try word(path, TokenLifetimeUnit.allCases.map(\.rawValue))) ?? .seconds
    }

    /// Reads one of the given words.
    func word(_ path: String, _ words: [String]) throws(NightjarError) -> String {
        let text = try text(path)
        guard words.contains(text) else {
            let all = words.map { "\"\($0)\"" }.joined(separator: ", ")
            throw NightjarError(.invalidArgument, "option \(quoted(path)) is \(quoted(text)); it must be one of \(all)")
        }
        return text
    }

    func method(_ path: String) throws(NightjarError) -> Method {
        let name = try text(path)
        guard let method = Method(name) else {
            throw NightjarError(
                .invalidArgument, "option \(quoted(path)) is \(quoted(name)), which is not a valid method")
        }
        return method
    }

    /// Reads a JSON Pointer (RFC 6901).
    func pointer(_ path: String) throws(NightjarError) -> JSONPointer {
        do throws(NightjarError) {
            return try JSONPointer(try text(path))
        } catch {
            throw NightjarError(.invalidArgument, "option \(quoted(path)): \(error.message)")
        }
    }

    fileprivate func pairs(_ path: String) throws(NightjarError) -> [(name: String, value: String)] {
        guard case .object(let members) = self else { throw .mismatch(path, expected: "a table of strings", self) }
        var pairs: [(name: String, value: String)] = []
        for member in members { pairs.append((member.name, try member.value.text("\(path).\(member.name)"))) }
        return pairs
    }
}
