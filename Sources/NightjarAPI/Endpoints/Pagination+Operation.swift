extension Pagination {
    /// Returns a copy that uses the declared query parameters of `operation` for guessing.
    package func guessing(by operation: Operation?) -> Pagination {
        guard let operation else { return self }
        var pagination = self
        pagination.declared = operation.parameters.filter { $0.place == .query }.map { parameter in
            var declared = DeclaredParameter(name: parameter.name)
            if case .integer(let start) = parameter.defaultValue { declared.start = Int(exactly: start) }
            return declared
        }
        return pagination
    }
}
