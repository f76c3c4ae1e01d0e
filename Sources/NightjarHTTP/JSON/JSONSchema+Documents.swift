extension JSONSchema {
    public enum Dialect: Sendable {
        /// `nullable` counts, `exclusiveMinimum` and `exclusiveMaximum` are true or false, and what is beside a `$ref` is
        /// passed over. OpenAPI 3.0.3 section 4.7.24.
        case openAPI30
        /// JSON Schema 2020-12. OpenAPI 3.1 section 4.8.24.
        case openAPI31
    }

    /// The schema at a place of a document that others wrote: words that are not known are passed over.
    ///
    /// - Throws: `invalid_argument` with the place: a reference that leads nowhere, what is no schema, or a limit.
    public init(at place: SchemaPlace, in source: any SchemaSource, dialect: Dialect) throws(NightjarError) {
        var work = JSONSchemaReader.maximumWork
        let schema = try source.schema(at: place, limit: &work)
        (arena, root) = try JSONSchemaReader.read(schema, at: place, in: source, dialect, work: &work)
    }

    /// What was passed over when it and what it refers to were read, each with its place; of more, the first 1,000.
    public var notes: [String] { arena.notes(of: root, atMost: JSONSchema.maximumNotes) }

    private static let maximumNotes = 1000
}
