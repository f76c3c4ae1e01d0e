import NightjarHTTP
import Synchronization

/// The schemas of a description, which are read when somebody needs them.
final class DescribedSchemas: SchemaSource {
    let set: DocumentSet
    let dialect: JSONSchema.Dialect

    init(_ set: DocumentSet, _ dialect: JSONSchema.Dialect) {
        self.set = set
        self.dialect = dialect
    }

    func schema(at place: SchemaPlace) throws(NightjarError) -> JSONValue { try set.schema(at: place) }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        try set.place(of: reference, in: document)
    }

    func deferred(_ place: DocumentPlace) -> DeferredSchema {
        let read = ReadSchema(place, self)
        return DeferredSchema { () throws(NightjarError) in try read.get() }
    }
}

/// A schema that is kept once it is read.
private final class ReadSchema: Sendable {
    private let place: DocumentPlace
    private let source: DescribedSchemas
    private let schema = Mutex<JSONSchema?>(nil)

    init(_ place: DocumentPlace, _ source: DescribedSchemas) {
        self.place = place
        self.source = source
    }

    /// Not read under the lock: what two threads ask for at once, both read.
    func get() throws(NightjarError) -> JSONSchema {
        if let schema = schema.withLock({ $0 }) { return schema }
        let read = try JSONSchema(at: source.set.schemaPlace(place), in: source, dialect: source.dialect)
        schema.withLock { $0 = read }
        return read
    }
}
