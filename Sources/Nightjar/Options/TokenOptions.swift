import NightjarHTTP

extension Token {
    /// What a login has brought, as C and Lua hand it over: `{access_token=, refresh_token=, expires_in=, token_type=, scope=}`,
    /// of which the first must be there.
    ///
    /// - Throws: `decoding` when it is not JSON; `invalid_argument` for an unknown name, a wrong type, and a token that cannot
    ///   stand in a header.
    public init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        let token = try Token.options.applied(JSONValue(parsing: json), to: Token(access: ""))
        guard !token.access.isEmpty else {
            throw NightjarError(.invalidArgument, "option \"access_token\" is missing or empty")
        }
        guard token.authorization != nil else {
            throw NightjarError(.invalidArgument, "the token or its type has a character that cannot stand in a header")
        }
        self = token
    }

    /// The same, which serves so long from now on.
    public func lasting(_ lifetime: Duration) -> Token {
        var token = self
        token.expiry = WallClock.now().later(by: lifetime)
        return token
    }

    private static let options = OptionTable<Token>([
        Option(name: "access_token") { value, path, token throws(NightjarError) in
            token.access = try value.text(path)
        },
        Option(name: "refresh_token") { value, path, token throws(NightjarError) in
            token.refresh = try value.text(path)
        },
        Option(name: "expires_in") { value, path, token throws(NightjarError) in
            token = token.lasting(try value.duration(path))
        },
        Option(name: "token_type") { value, path, token throws(NightjarError) in token.type = try value.text(path) },
        Option(name: "scope") { value, path, token throws(NightjarError) in token.scope = try value.text(path) },
    ])
}
