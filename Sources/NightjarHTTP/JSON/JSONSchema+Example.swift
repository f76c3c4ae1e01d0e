extension JSONSchema {
    /// A small value that the schema accepts: one of its examples, its default, or a generated one.
    ///
    /// Optional members are omitted, so that recursive schemas end. Strings for a `pattern` are generated if the
    /// pattern is simple. The result is validated.
    ///
    /// - Parameter use: for a request, read-only members are omitted.
    /// - Returns: nil if no value was found. A value may still exist, because not every `pattern` and `not` can be
    ///   solved.
    public func example(use: Use = .any) -> JSONValue? {
        var maker = JSONExampleMaker(arena, use)
        return maker.example(of: [root])
    }
}
