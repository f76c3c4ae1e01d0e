/// The schemas of documents that refer to each other. Each schema is read on first use and stored once.
package struct SchemaLibrary: ~Copyable, Sendable {
    private let source: any SchemaSource
    private let dialect: JSONSchema.Dialect
    private let maximum: Int
    private let arena = JSONSchema.Arena()
    /// The remaining budget for reading all schemas.
    private var work: Int
    /// The schemas that have been read and that references may reach.
    private var known: [SchemaPlace: JSONSchema.Index] = [:]

    /// - Parameters:
    ///   - maximum: the most schemas that are stored. Reading more is an error.
    ///   - work: the budget for reading all schemas: JSON values that may be created and names of 64 bytes that may be
    ///     looked up. It is shared by all schemas, because each `$ref` can lead to a value that aliases multiply.
    package init(
        _ source: any SchemaSource, dialect: JSONSchema.Dialect, maximum: Int, work: Int = SchemaLibrary.leastWork
    ) {
        self.source = source
        self.dialect = dialect
        self.maximum = maximum
        self.work = work
    }

    /// The budget for small documents, see ``init(_:dialect:maximum:work:)``.
    package static let leastWork = 1_000_000

    /// Returns the schema at a place. The first call may take long. Meanwhile, other threads may use the schemas they
    /// have.
    ///
    /// - Throws: the errors of ``JSONSchema/init(at:in:dialect:)``, on each call.
    package mutating func schema(at place: SchemaPlace) throws(NightjarError) -> JSONSchema {
        if let root = known[place] { return JSONSchema(arena, root) }
        let root = try JSONSchemaReader.read(
            source.schema(at: place, limit: &work), at: place, in: source, dialect, arena, &known, maximum: maximum,
            work: &work)
        return JSONSchema(arena, root)
    }

    /// The number of stored schemas, including `true` and `false`.
    var count: Int { arena.count }
}
