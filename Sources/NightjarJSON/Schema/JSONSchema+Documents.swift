extension JSONSchema {
    /// The dialect of a schema. `nullable` and boolean values of `exclusiveMinimum` and `exclusiveMaximum` are
    /// supported in both dialects.
    public enum Dialect: Sendable {
        /// Members beside a `$ref` are ignored. OpenAPI 3.0.3 section 4.7.24.
        case openAPI30
        /// JSON Schema 2020-12: members beside a `$ref` apply too. OpenAPI 3.1 section 4.8.24.
        case openAPI31
    }

    /// Reads the schema at a place in a third-party document. Unknown and invalid keywords are ignored.
    ///
    /// - Throws: `invalid_argument` with the place if the place has no schema, a reference has no target, or a limit is
    ///   exceeded; `invalid_url` if a reference has an invalid URL; `no_memory`.
    public init(at place: SchemaPlace, in source: any SchemaSource, dialect: Dialect) throws(NightjarError) {
        var work = JSONSchemaReader.maximumWork
        let schema = try source.schema(at: place, limit: &work)
        (arena, root) = try JSONSchemaReader.read(schema, at: place, in: source, dialect, work: &work)
    }

    /// Notes about ignored keywords in this schema and in the schemas to which it refers. Each note contains the place.
    /// At most 1,000.
    public var notes: [String] { arena.notes(of: root, atMost: JSONSchema.maximumNotes) }

    private static let maximumNotes = 1000
}
