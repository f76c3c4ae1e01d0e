/// The schemas of documents that refer to each other. Each schema is read on first use and stored once, however many
/// others refer to it.
public struct SchemaLibrary: ~Copyable, Sendable {
    private let source: any SchemaSource
    private let dialect: JSONSchema.Dialect
    private let maximum: Int
    private let arena = JSONSchema.Arena()
    /// The remaining budget for reading all schemas together.
    private var work: Int
    /// The targets of references among the schemas that have been read.
    private var known: [SchemaPlace: JSONSchema.Index] = [:]

    /// - Parameters:
    ///   - maximum: the maximum number of stored schemas. Exceeding it is an error for the caller.
    ///   - work: the number of JSON values that reading all schemas may create, plus the names of 64 bytes that it may
    ///     look up. One limit for all schemas, because each `$ref` may refer to a value that aliases multiply.
    public init(
        _ source: any SchemaSource, dialect: JSONSchema.Dialect, maximum: Int, work: Int = SchemaLibrary.leastWork
    ) {
        self.source = source
        self.dialect = dialect
        self.maximum = maximum
        self.work = work
    }

    /// A limit for ``init(_:dialect:maximum:work:)`` that suits small documents.
    public static let leastWork = 1_000_000

    /// The schema at a location. The first access may take long. Meanwhile other threads may use schemas that they
    /// already have.
    ///
    /// - Throws: the errors of ``JSONSchema/init(at:in:dialect:)``, on every access.
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
