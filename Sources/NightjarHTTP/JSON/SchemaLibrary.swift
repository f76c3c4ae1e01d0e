/// The schemas of documents that refer to each other: each is read when it is first needed, and kept once, however many
/// refer to it.
public struct SchemaLibrary: ~Copyable, Sendable {
    private let source: any SchemaSource
    private let dialect: JSONSchema.Dialect
    private let maximum: Int
    private let arena = JSONSchema.Arena()
    /// Of those that are read, where a reference leads to.
    private var known: [SchemaPlace: JSONSchema.Index] = [:]

    /// - Parameter maximum: schemas that are kept. What goes beyond is an error of who asks for it.
    public init(_ source: any SchemaSource, dialect: JSONSchema.Dialect, maximum: Int) {
        self.source = source
        self.dialect = dialect
        self.maximum = maximum
    }

    /// The schema at a place. The first time it may take long. Other threads may use the schemas that they have meanwhile.
    ///
    /// - Throws: as ``JSONSchema/init(at:in:dialect:)``, each time anew.
    public mutating func schema(at place: SchemaPlace) throws(NightjarError) -> JSONSchema {
        if let root = known[place] { return JSONSchema(arena, root) }
        let root = try JSONSchemaReader.read(
            source.schema(at: place), at: place, in: source, dialect, arena, &known, maximum: maximum)
        return JSONSchema(arena, root)
    }

    /// Schemas that are kept, `true` and `false` among them.
    var count: Int { arena.count }
}
