import NightjarHTTP
import Synchronization

/// The schemas of a description. Each is parsed on first use and shared by all operations that refer to it.
final class DescribedSchemas: Sendable {
    let set: DocumentSet
    let dialect: JSONSchema.Dialect
    /// The parsed schemas. Locked while a schema is parsed.
    private let library: Mutex<SchemaLibrary>

    init(_ set: DocumentSet, _ dialect: JSONSchema.Dialect) {
        self.set = set
        self.dialect = dialect
        let values = set.documents.reduce(0) { $0 + $1.tree.nodes.count }
        library = Mutex(
            SchemaLibrary(
                set, dialect: dialect, maximum: max(values, DescribedSchemas.leastMaximum),
                work: max(values * DescribedSchemas.workOfValue, SchemaLibrary.leastWork)))
    }

    func deferred(_ place: DocumentPlace) -> DeferredSchema {
        DeferredSchema { [self] () throws(NightjarError) in
            let place = set.schemaPlace(place)
            return try library.withLock { library throws(NightjarError) in try library.schema(at: place) }
        }
    }

    /// The minimum of the limit on the number of parsed schemas. Documents with more values than this may have one
    /// schema for each value. A schema consists of at least three values, so only aliases and references into schemas
    /// can exceed the limit.
    private static let leastMaximum = 200_000
    /// The limit on the work of parsing all schemas, for each value of the documents. Without aliases, a value is read
    /// once for each reference to an enclosing schema, and the place of the value is looked up by the enclosing names.
    private static let workOfValue = 16
}
