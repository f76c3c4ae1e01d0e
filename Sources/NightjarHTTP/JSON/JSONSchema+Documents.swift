extension JSONSchema {
    public enum Dialect: Sendable {
        /// `nullable` is supported, `exclusiveMinimum` and `exclusiveMaximum` are booleans, and keywords next to a
        /// `$ref` are ignored. OpenAPI 3.0.3 section 4.7.24.
        case openAPI30
        /// JSON Schema 2020-12. OpenAPI 3.1 section 4.8.24.
        case openAPI31
    }

    /// Reads a schema from a third-party document. Unknown keywords are ignored.
    ///
    /// - Throws: `invalid_argument` with the location: a dangling reference, a value that is not a schema, or an
    ///   exceeded limit.
    public init(at place: SchemaPlace, in source: any SchemaSource, dialect: Dialect) throws(NightjarError) {
        var work = JSONSchemaReader.maximumWork
        let schema = try source.schema(at: place, limit: &work)
        (arena, root) = try JSONSchemaReader.read(schema, at: place, in: source, dialect, work: &work)
    }

    /// What was ignored in the schema and the schemas it refers to, with locations. At most the first 1,000.
    public var notes: [String] { arena.notes(of: root, atMost: JSONSchema.maximumNotes) }

    private static let maximumNotes = 1000
}
