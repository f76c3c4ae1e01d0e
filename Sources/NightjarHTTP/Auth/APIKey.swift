/// A key that goes with each request, in a field, in the query or in a cookie.
public struct APIKey: Sendable, CustomStringConvertible, CustomReflectable {
    public enum Place: Sendable, Equatable {
        case header(String)
        case query(String)
        /// Beside those of the client's jar, of which one of that name gives way.
        case cookie(String)
    }

    public let place: Place
    private let value: String

    /// - Parameter prefix: what a field's value has before the key, for instance `Token` and a space.
    /// - Throws: `invalid_argument` for a name or a value that its place cannot hold. The key is not quoted.
    public init(_ key: String, in place: Place, prefix: String = "") throws(NightjarError) {
        guard !key.isEmpty else { throw NightjarError(.invalidArgument, "the API key is empty") }
        switch place {
        case .header(let name):
            guard FieldSyntax.isToken(name.utf8) else {
                throw NightjarError(.invalidArgument, "the API key's header name \(quoted(name)) is not a token")
            }
            var text = name
            let reason = text.withUTF8 { ReservedField.reason(UnsafeRawBufferPointer($0)) }
            if let reason {
                throw NightjarError(
                    .invalidArgument, "the API key cannot be sent in header \(quoted(name)): \(reason)")
            }
            // A key from a file often has the end of its line with it.
            guard (prefix + key).utf8.allSatisfy({ 0x20...0x7E ~= $0 }), key.utf8.last != 0x20 else {
                throw NightjarError(
                    .invalidArgument, "the API key holds white space at its end, or what is not visible ASCII")
            }
            value = prefix + key
        case .query(let name):
            guard !name.isEmpty else { throw NightjarError(.invalidArgument, "the API key's query name is empty") }
            guard prefix.isEmpty else {
                throw NightjarError(.invalidArgument, "an API key in the query has no prefix")
            }
            value = key
        case .cookie(let name):
            guard FieldSyntax.isToken(name.utf8) else {
                throw NightjarError(.invalidArgument, "the API key's cookie name \(quoted(name)) is not a token")
            }
            guard prefix.isEmpty else { throw NightjarError(.invalidArgument, "an API key in a cookie has no prefix") }
            guard key.utf8.allSatisfy(CookieField.isValueByte) else {
                throw NightjarError(
                    .invalidArgument,
                    "the API key holds white space, a comma, a semicolon, or what is not visible ASCII, which no cookie has "
                        + "(RFC 6265 section 4.1.1)")
            }
            value = key
        }
        self.place = place
    }

    /// To be among the sensitive names of the client's ``RequestTemplate``, so that a value that somebody else puts there
    /// is masked as well.
    public var sensitiveName: String {
        switch place {
        case .header(let name), .query(let name): name
        case .cookie: "Cookie"
        }
    }

    /// What a header carries; nil for a key in the query or in a cookie.
    public var field: (name: String, value: String)? {
        guard case .header(let name) = place else { return nil }
        return (name, value)
    }

    public var description: String { "API key ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The request with the key. One that has something in that place already stays as it is: a call may bring its own, and
    /// a redirect may keep ours in its query. The caller answers for the origin.
    ///
    /// - Throws: `invalid_url` when the target becomes too long.
    public func attached(to request: PreparedRequest) throws(NightjarError) -> PreparedRequest {
        switch place {
        case .header(let name):
            return request.hasField(name) ? request : try request.addingSecret(field: name, value)
        case .query(let name):
            return request.url.hasQueryItem(name) ? request : try request.addingSecret(query: name, value)
        case .cookie(let name):
            guard !request.ownCookies.isEmpty || !request.hasField("Cookie"),
                !request.ownCookies.contains(where: { CookieField.name(of: $0).elementsEqual(name.utf8) })
            else { return request }
            return try request.adding(cookie: "\(name)=\(value)")
        }
    }
}

extension RequestURL {
    fileprivate func hasQueryItem(_ name: String) -> Bool {
        guard let query else { return false }
        return query.utf8.split(separator: UInt8(ascii: "&")).contains { item in
            let written = item.prefix { $0 != UInt8(ascii: "=") }.map { $0 == UInt8(ascii: "+") ? 0x20 : $0 }
            return PercentEncoding.decoded(written).elementsEqual(name.utf8)
        }
    }
}
