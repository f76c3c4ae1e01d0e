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

    /// The limit on the number of parsed schemas in small documents. In larger documents, the limit is the number of
    /// values. A schema consists of at least one value, so only aliases and references into schemas can exceed the
    /// limit.
    private static let leastMaximum = 200_000
    /// The budget for parsing all schemas, per value of the documents. See
    /// ``SchemaLibrary/init(_:dialect:maximum:work:)``. Without aliases, a value costs one unit for each reference to
    /// an enclosing schema.
    private static let workOfValue = 16
}
