/// A login call configured by the caller: the request, and the locations of the tokens in its response.
public struct LoginCall: Sendable, CustomStringConvertible, CustomReflectable {
    /// The locations of the tokens in the response.
    public typealias TokenPointers = NightjarHTTP.TokenPointers

    /// The body of a login or refresh call.
    public enum Body: Sendable, CustomStringConvertible, CustomReflectable {
        case json(JSONValue)
        /// Form items in order.
        case form([(name: String, value: String)])

        public var description: String { "login ***" }
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    public var method = Method.post
    /// A path relative to the base URL, or an absolute URL.
    public var target: String
    /// The request body with the credentials.
    public var body: Body
    public var places = TokenPointers()

    public init(_ target: String, _ body: Body) {
        self.target = target
        self.body = body
    }

    public var description: String { "\(method) login ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// - Throws: `invalid_request` if the JSON contains a value that cannot be encoded, such as an infinite number.
    public func request() throws(NightjarError) -> Request { try body.request(method, target) }
}

/// A refresh call configured by the caller.
public struct RefreshCall: Sendable, CustomStringConvertible, CustomReflectable {
    public var method = Method.post
    public var target: String
    /// The request body without the refresh token.
    public var body: LoginCall.Body
    /// The location of the refresh token in the body. In JSON, the token replaces the value at that location or is
    /// added there. In a form, the pointer is the name of an item, such as `/refresh_token`.
    public var tokenPlace = JSONPointer(tokens: ["refresh_token"])
    public var places = TokenPointers()

    public init(_ target: String, _ body: LoginCall.Body = .json(.object([]))) {
        self.target = target
        self.body = body
    }

    public var description: String { "\(method) refresh ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// - Throws: `invalid_argument` if the token cannot be inserted at ``tokenPlace``; `invalid_request` if the JSON
    ///   contains a value that cannot be encoded.
    public func request(refreshToken: String) throws(NightjarError) -> Request {
        switch body {
        case .json(let template):
            let json = try tokenPlace.setting(.string(refreshToken), in: template)
            return try LoginCall.Body.json(json).request(method, target)
        case .form(let pairs):
            guard tokenPlace.tokens.count == 1, let name = tokenPlace.tokens.first else {
                throw NightjarError(
                    .invalidArgument,
                    "a form has no location \(quoted(tokenPlace.description)); use the name of an item, such as "
                        + "\"/refresh_token\"")
            }
            let index = pairs.firstIndex { $0.name.isExactly(name) } ?? pairs.endIndex
            var form = pairs.filter { !$0.name.isExactly(name) }
            form.insert((name, refreshToken), at: min(index, form.endIndex))
            return try LoginCall.Body.form(form).request(method, target)
        }
    }
}

extension LoginCall.Body {
    fileprivate func request(_ method: Method, _ target: String) throws(NightjarError) -> Request {
        var request = Request(method, target)
        try request.headers.set("Accept", "application/json")
        switch self {
        case .json(let value):
            request.body = .bytes(try value.encoded())
            try request.headers.set("Content-Type", "application/json")
        case .form(let pairs):
            request.body = .bytes(FormEncoding.encode(pairs))
            try request.headers.set("Content-Type", FormEncoding.contentType)
        }
        return request
    }
}

extension JSONPointer {
    /// Returns a copy of the document with `value` at the location of this pointer. Creates missing members.
    ///
    /// - Throws: `invalid_argument` if the pointer leads through a scalar, or to a missing array element.
    func setting(_ value: JSONValue, in document: JSONValue) throws(NightjarError) -> JSONValue {
        guard let token = tokens.first else { return value }
        let rest = JSONPointer(tokens: Array(tokens.dropFirst()))
        switch document {
        case .object(var members):
            if let index = members.firstIndex(where: { $0.name.utf8.elementsEqual(token.utf8) }) {
                members[index].value = try rest.setting(value, in: members[index].value)
            } else {
                members.append(JSONValue.Member(token, try rest.setting(value, in: .object([]))))
            }
            return .object(members)
        case .array(var elements):
            guard let index = Int(token), elements.indices.contains(index) else { throw noPlace(token) }
            elements[index] = try rest.setting(value, in: elements[index])
            return .array(elements)
        // A `null` in the template is a placeholder, so an object replaces it.
        case .null: return try setting(value, in: .object([]))
        case .bool, .integer, .unsigned, .number, .string: throw noPlace(token)
        }
    }

    private func noPlace(_ token: String) -> NightjarError {
        NightjarError(.invalidArgument, "the body has no location \(quoted("/" + token)) for the token")
    }
}
