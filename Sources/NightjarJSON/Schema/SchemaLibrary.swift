/// The schemas of documents that refer to each other. Each schema is read on first use and stored once.
public struct SchemaLibrary: ~Copyable, Sendable {
    private let source: any SchemaSource
    private let dialect: JSONSchema.Dialect
    private let maximum: Int
    private let arena = JSONSchema.Arena()
    /// The remaining budget for reading all schemas.
    private var work: Int
    /// The schemas that were read by ``schema(at:)`` or as the target of a reference.
    private var known: [SchemaPlace: JSONSchema.Index] = [:]

    /// - Parameters:
    ///   - maximum: the maximum number of stored schemas. Reading more is an error.
    ///   - work: the budget for reading all schemas. Each JSON value created, each schema and every 64 bytes of names
    ///     cost one unit. All schemas share the budget, because YAML aliases can multiply the values of a small
    ///     document.
    public init(
        _ source: any SchemaSource, dialect: JSONSchema.Dialect, maximum: Int, work: Int = SchemaLibrary.leastWork
    ) {
        self.source = source
        self.dialect = dialect
        self.maximum = maximum
        self.work = work
    }

    /// The budget for small documents. See ``init(_:dialect:maximum:work:)``.
    public static let leastWork = 1_000_000

    /// Returns the schema at a place. The first call for a place reads the schema. While the schema is read, other
    /// threads may use schemas that were returned earlier.
    ///
    /// - Throws: the errors of ``JSONSchema/init(at:in:dialect:)``. The next call for the place reads the schema again.
    public mutating func schema(at place: SchemaPlace) throws(NightjarError) -> JSONSchema {
        if let root = known[place] { return JSONSchema(arena, root) }
        let root = try JSONSchemaReader.read(
            source.schema(at: place, limit: &work), at: place, in: source, dialect, arena, &known, maximum: maximum,
            work: &work)
        return JSONSchema(arena, root)
    }

    /// The number of stored schemas, including `true` and `false`.
    var count: Int { arena.count }
}
