extension Request {
    /// Returns a copy with the Idempotency-Key field that ``idempotencyKey`` selects.
    public func withIdempotencyKey() throws(NightjarError) -> Request {
        let key: IdempotencyKey
        switch idempotencyKey {
        case .none: return self
        case .generated:
            if headers.firstIndex(of: IdempotencyKey.fieldName) != nil { return self }
            var random = SystemRandomNumberGenerator()
            key = IdempotencyKey(using: &random)
        case .key(let chosen): key = chosen
        }
        var request = self
        try request.headers.set(IdempotencyKey.fieldName, key.text)
        return request
    }
}
