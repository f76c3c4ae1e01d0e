import NightjarHTTP

extension Token {
    /// Reads a token response from C or Lua: `{access_token=, refresh_token=, expires_in=, token_type=, scope=}`.
    /// `access_token` is required.
    ///
    /// - Throws: `decoding` if the text is not JSON; `invalid_argument` for an unknown name, a wrong type, or a token
    ///   with a character that is not allowed in a header.
    public init(json: UnsafeRawBufferPointer) throws(NightjarError) {
        let token = try Token.options.applied(JSONValue(parsing: json), to: Token(access: ""))
        guard !token.access.isEmpty else {
            throw NightjarError(.invalidArgument, "option \"access_token\" is missing or empty")
        }
        guard token.authorization != nil else {
            throw NightjarError(
                .invalidArgument,
                "the token or its type contains a character that is not allowed "
                    + "in a header")
        }
        self = token
    }

    /// Returns the token with an expiry of `lifetime` from now.
    public func withLifetime(_ lifetime: Duration) -> Token {
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
            token = token.withLifetime(try value.duration(path))
        },
        Option(name: "token_type") { value, path, token throws(NightjarError) in token.type = try value.text(path) },
        Option(name: "scope") { value, path, token throws(NightjarError) in token.scope = try value.text(path) },
    ])
}
