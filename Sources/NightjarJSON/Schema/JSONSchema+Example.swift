extension JSONSchema {
    /// Returns a small valid value: an example of the schema, its default, or a generated value.
    ///
    /// Optional members are omitted, so that recursive schemas terminate. A string for a `pattern` is generated if the
    /// pattern is simple. The value has been checked against the schema.
    ///
    /// - Parameter use: for a request, read-only members are omitted.
    /// - Returns: nil if no value was found. A valid value may still exist, because values for `pattern` and `not`
    ///   cannot be derived in general.
    public func example(use: Use = .any) -> JSONValue? {
        var maker = JSONExampleMaker(arena, use)
        return maker.example(of: [root])
    }
}
