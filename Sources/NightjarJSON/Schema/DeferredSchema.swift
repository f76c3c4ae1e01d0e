/// A schema that is parsed on first use. A program uses few of the schemas of a large API.
package final class DeferredSchema: Sendable {
    private let read: @Sendable () throws(NightjarError) -> JSONSchema
    private let cached = LazyReference<Loaded>()

    /// The result of parsing.
    private final class Loaded: Sendable {
        let result: Result<JSONSchema, NightjarError>

        init(_ result: Result<JSONSchema, NightjarError>) { self.result = result }
    }

    /// - Parameter read: parses the schema. Called by ``get()`` on the caller's thread until a result is cached,
    ///   possibly on several threads concurrently.
    package init(_ read: @escaping @Sendable () throws(NightjarError) -> JSONSchema) { self.read = read }

    package convenience init(_ schema: JSONSchema) {
        self.init { () throws(NightjarError) in schema }
        _ = cached.storeIfNil(Loaded(.success(schema)))
    }

    /// Returns the schema. Parses it on the first call.
    ///
    /// - Throws: `invalid_argument` with the reason and location if the schema is invalid.
    package func get() throws(NightjarError) -> JSONSchema {
        if let cached = cached.load() { return try cached.result.get() }
        return try cached.storeIfNil(Loaded(Result { () throws(NightjarError) in try read() })).result.get()
    }

    /// True if ``get()`` returns without parsing.
    package var isRead: Bool { cached.load() != nil }
}
