extension JSONSchema {
    /// Returns a small valid value: an example, the default or an `enum` value of the schema, or a generated value.
    ///
    /// Generated objects omit optional members, except a discriminator and members that `minProperties` requires. For
    /// `pattern`, a string is generated only if the pattern is simple. The value has been checked against the schema.
    ///
    /// - Parameter use: for a request, generated objects omit required members that are read-only.
    /// - Returns: nil if no value was found. A valid value may still exist, because values for `pattern` and `not`
    ///   cannot be derived in general.
    public func example(use: Use = .any) -> JSONValue? {
        var maker = JSONExampleMaker(arena, use)
        return maker.example(of: [root])
    }
}
