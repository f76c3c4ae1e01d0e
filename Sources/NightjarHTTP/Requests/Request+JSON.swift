extension Request {
    /// Sends `value` as JSON, with the Content-Type application/json unless the request or the client has set one.
    ///
    /// For PATCH: an optional that is nil is left out; ``Null`` and ``JSONValue/null`` are null, and so is the inner nil
    /// of a `String??`.
    ///
    /// - Throws: `invalid_request` with the path and what is wrong there.
    public mutating func json<Value: Encodable>(
        _ value: Value, _ options: JSONEncodingOptions = .init()
    ) throws(NightjarError) {
        body = .bytes(try JSONValue(encoding: value, options).encoded())
        impliedType = .json
    }
}
