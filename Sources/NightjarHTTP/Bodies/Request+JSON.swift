extension Request {
    /// Sends `value` as JSON, with a Content-Type that says so where the request has none.
    ///
    /// For PATCH: an optional that is nil is left out; ``Null`` and ``JSONValue/null`` are null, and so is the inner nil
    /// of a `String??`.
    ///
    /// - Throws: `invalid_request` with the path and what is wrong there.
    public mutating func json<Value: Encodable>(
        _ value: Value, _ options: JSONEncodingOptions = .init()
    ) throws(NightjarError) {
        body = .bytes(try JSONValue(encoding: value, options).encoded())
        if headers["content-type"] == nil { try headers.set("Content-Type", "application/json") }
    }
}
