import NightjarHTTP
import Synchronization

/// The schemas of a description, which are read when somebody needs them. Operations share what they refer to.
final class DescribedSchemas: Sendable {
    let set: DocumentSet
    let dialect: JSONSchema.Dialect
    /// Who reads a schema for the first time holds the lock.
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

    /// Schemas that may be kept of small documents. Of others it is one for each value that is written: a schema has three
    /// at least, so more come only of aliases, and of references into schemas.
    private static let leastMaximum = 200_000
    /// What reading all schemas may cost for each value of the documents. Without aliases, a value is read once for each
    /// reference to a schema around it, and its place is looked up by the names around it.
    private static let workOfValue = 16
}
