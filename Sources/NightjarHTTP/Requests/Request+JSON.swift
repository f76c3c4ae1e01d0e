extension Request {
    /// Sets the body to `value` as JSON. The Content-Type is application/json unless the request or the client sets
    /// another.
    ///
    /// A synthesized `encode(to:)` omits optionals that are nil. ``Null``, ``JSONValue/null`` and the inner nil of a
    /// `String??` are written as null, which PATCH requests use to remove a member.
    ///
    /// - Throws: `invalid_request` with the path and the reason.
    @_disfavoredOverload
    public mutating func json<Value: Encodable>(
        _ value: Value, _ options: JSONEncodingOptions = .init()
    ) throws(NightjarError) {
        body = .bytes(try JSONValue(encoding: value, options).encoded())
        impliedType = .json
    }

    /// Sets the body to a JSON value, which can be a literal with variables. The members keep their order.
    ///
    ///     try request.json(["id": id, "title": title])
    ///
    /// - Throws: `invalid_request` for a number that is infinite or NaN.
    public mutating func json(_ value: JSONValue) throws(NightjarError) {
        body = .bytes(try value.encoded())
        impliedType = .json
    }
}
