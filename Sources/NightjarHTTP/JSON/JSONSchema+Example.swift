extension JSONSchema {
    /// Returns a small valid value: an example of the schema, its default, or a generated value.
    ///
    /// Optional members are omitted, so that a recursive schema terminates. A text for a `pattern` is generated if the
    /// pattern is simple. The result is always checked.
    ///
    /// - Parameter use: for a request, read-only members are omitted.
    /// - Returns: nil if no value was found. One may still exist, because `pattern` and `not` cannot be solved in
    ///   general.
    public func example(use: Use = .any) -> JSONValue? {
        var maker = JSONExampleMaker(arena, use)
        return maker.example(of: [root])
    }
}
