extension Request {
    /// Sets the body to `value` as JSON. The Content-Type is application/json unless the request or the client sets
    /// another.
    ///
    /// A synthesized `encode(to:)` omits optionals that are nil. ``Null``, ``JSONValue/null`` and the inner nil of a
    /// `String??` are written as null, which PATCH requests use to remove a member.
    ///
    /// - Throws: `invalid_request` with the path and the reason.
    public mutating func json<Value: Encodable>(
        _ value: Value, _ options: JSONEncodingOptions = .init()
    ) throws(NightjarError) {
        body = .bytes(try JSONValue(encoding: value, options).encoded())
        impliedType = .json
    }
}
