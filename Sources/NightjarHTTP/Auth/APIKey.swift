/// An API key, which is sent in a header field, in the query or in a cookie.
public struct APIKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The part of a request that carries the key.
    public enum Place: Sendable, Equatable {
        case header(String)
        case query(String)
        /// A cookie. Replaces a cookie of the same name from the client's jar.
        case cookie(String)
    }

    public let place: Place
    private let value: String

    /// - Parameter prefix: text before the key in a field value, such as `Token` and a space.
    /// - Throws: `invalid_argument` for an empty key, for a name or key that is not allowed in that place, and for a
    ///   prefix in the query or in a cookie. The message does not quote the key.
    public init(_ key: String, in place: Place, prefix: String = "") throws(NightjarError) {
        guard !key.isEmpty else { throw NightjarError(.invalidArgument, "the API key must not be empty") }
        switch place {
        case .header(let name):
            guard FieldSyntax.isToken(name.utf8) else {
                throw NightjarError(
                    .invalidArgument,
                    "the API key's header name must consist of letters, digits and !#$%&'*+-.^_`|~, got \(quoted(name))"
                )
            }
            var text = name
            let reason = text.withUTF8 { ReservedField.reason(UnsafeRawBufferPointer($0)) }
            if let reason {
                throw NightjarError(
                    .invalidArgument, "the API key cannot be sent in header \(quoted(name)): \(reason)")
            }
            // A key read from a file often ends with a line break.
            guard (prefix + key).utf8.allSatisfy({ 0x20...0x7E ~= $0 }), key.utf8.last != 0x20 else {
                throw NightjarError(
                    .invalidArgument,
                    "the API key or its prefix has a control or non-ASCII character, or the key ends with a space; "
                        + "check whether a line break follows the key")
            }
            value = prefix + key
        case .query(let name):
            guard !name.isEmpty else {
                throw NightjarError(.invalidArgument, "the name of the API key's query item must not be empty")
            }
            guard prefix.isEmpty else {
                throw NightjarError(.invalidArgument, "an API key in the query cannot have a prefix")
            }
            value = key
        case .cookie(let name):
            guard FieldSyntax.isToken(name.utf8) else {
                throw NightjarError(
                    .invalidArgument,
                    "the API key's cookie name must consist of letters, digits and !#$%&'*+-.^_`|~, got \(quoted(name))"
                )
            }
            guard prefix.isEmpty else {
                throw NightjarError(.invalidArgument, "an API key in a cookie cannot have a prefix")
            }
            guard key.utf8.allSatisfy(CookieField.isValueByte) else {
                throw NightjarError(
                    .invalidArgument,
                    "the API key contains white space, a comma, a semicolon, a control or a non-ASCII character, which "
                        + "a cookie cannot have (RFC 6265 section 4.1.1)")
            }
            value = key
        }
        self.place = place
    }

    /// The name to add to the sensitive names of the client's `RequestTemplate`. Values that the caller sets under
    /// this name are then masked too.
    public var sensitiveName: String {
        switch place {
        case .header(let name), .query(let name): name
        case .cookie: "Cookie"
        }
    }

    /// The header field that carries the key. Nil if the key is sent in the query or in a cookie.
    public var field: (name: String, value: String)? {
        guard case .header(let name) = place else { return nil }
        return (name, value)
    }

    public var description: String { "API key ***" }
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns the request with the key. Returns the request unchanged if it already has a value in the place of the
    /// key. For a cookie, any Cookie field that the caller has set counts as such a value.
    ///
    /// The caller must check that the origin may receive the key.
    ///
    /// - Throws: `invalid_url` if the target becomes too long, `invalid_request` if the resulting header field is
    ///   invalid.
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
