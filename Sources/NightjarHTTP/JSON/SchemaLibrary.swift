import Synchronization

/// The schemas of documents that refer to each other: each is read when it is first needed, and kept once, however many
/// refer to it.
public final class SchemaLibrary: Sendable {
    private let source: any SchemaSource
    private let dialect: JSONSchema.Dialect
    private let maximum: Int
    private let arena = JSONSchema.Arena()
    /// Of those that are read, where a reference leads to. Whoever reads holds the lock.
    private let known = Mutex<[SchemaPlace: JSONSchema.Index]>([:])

    /// - Parameter maximum: schemas that are kept. What goes beyond is an error of who asks for it.
    public init(_ source: any SchemaSource, dialect: JSONSchema.Dialect, maximum: Int) {
        self.source = source
        self.dialect = dialect
        self.maximum = maximum
    }

    /// The schema at a place. The first time it may take long, and others wait meanwhile; those who use schemas that they
    /// have do not.
    ///
    /// - Throws: as ``JSONSchema/init(at:in:dialect:)``, each time anew.
    public func schema(at place: SchemaPlace) throws(NightjarError) -> JSONSchema {
        let root = try known.withLock { known throws(NightjarError) in
            if let index = known[place] { return index }
            return try JSONSchemaReader.read(
                source.schema(at: place), at: place, in: source, dialect, arena, &known, maximum: maximum)
        }
        return JSONSchema(arena, root)
    }

    /// Schemas that are kept, `true` and `false` among them.
    var count: Int { known.withLock { _ in arena.count } }
}
