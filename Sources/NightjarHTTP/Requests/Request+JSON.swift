extension Request {
    /// Sets the body to `value` as JSON, with the Content-Type application/json unless the request or the client sets
    /// one.
    ///
    /// For PATCH: optionals that are nil are omitted. ``Null``, ``JSONValue/null`` and the inner nil of a `String??`
    /// are written as null.
    ///
    /// - Throws: `invalid_request` with the path and the reason.
    public mutating func json<Value: Encodable>(
        _ value: Value, _ options: JSONEncodingOptions = .init()
    ) throws(NightjarError) {
        body = .bytes(try JSONValue(encoding: value, options).encoded())
        impliedType = .json
    }
}
