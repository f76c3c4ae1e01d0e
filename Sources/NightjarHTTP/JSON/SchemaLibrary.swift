/// The schemas of documents that refer to each other: each is read when it is first needed, and kept once, however many
/// refer to it.
public struct SchemaLibrary: ~Copyable, Sendable {
    private let source: any SchemaSource
    private let dialect: JSONSchema.Dialect
    private let maximum: Int
    private let arena = JSONSchema.Arena()
    /// The rest of the budget for reading all schemas together.
    private var work: Int
    /// Of those that are read, where a reference leads to.
    private var known: [SchemaPlace: JSONSchema.Index] = [:]

    /// - Parameters:
    ///   - maximum: schemas that are kept. What goes beyond is an error of who asks for it.
    ///   - work: JSON values that reading all schemas may make, and names of 64 bytes that it may look up; one limit for
    ///     all of them, because each `$ref` can lead to a value that aliases multiply.
    public init(
        _ source: any SchemaSource, dialect: JSONSchema.Dialect, maximum: Int, work: Int = SchemaLibrary.leastWork
    ) {
        self.source = source
        self.dialect = dialect
        self.maximum = maximum
        self.work = work
    }

    /// A limit of ``init(_:dialect:maximum:work:)`` for small documents.
    public static let leastWork = 1_000_000

    /// The schema at a place. The first time it may take long. Other threads may use the schemas that they have meanwhile.
    ///
    /// - Throws: as ``JSONSchema/init(at:in:dialect:)``, each time anew.
    public mutating func schema(at place: SchemaPlace) throws(NightjarError) -> JSONSchema {
        if let root = known[place] { return JSONSchema(arena, root) }
        let root = try JSONSchemaReader.read(
            source.schema(at: place, limit: &work), at: place, in: source, dialect, arena, &known, maximum: maximum,
            work: &work)
        return JSONSchema(arena, root)
    }

    /// Schemas that are kept, `true` and `false` among them.
    var count: Int { arena.count }
}
