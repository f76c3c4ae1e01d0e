extension JSONSchema {
    /// A small value that it accepts: one of its own examples, its default, or one that is made of its rules.
    ///
    /// What need not be there is left out, so that a schema within itself comes to an end. A text for a `pattern` is made as
    /// far as its grammar is a simple one. Whatever comes of that is checked.
    ///
    /// - Parameter use: for a request, what is only read is left out.
    /// - Returns: nil where no such value was found; there may be one, for nobody can solve each `pattern` and each `not`.
    public func example(use: Use = .any) -> JSONValue? {
        var maker = JSONExampleMaker(arena, use)
        return maker.example(of: [root])
    }
}
