import Synchronization

/// A schema that is parsed on first use, because a program uses few of the schemas of a large API.
public final class DeferredSchema: Sendable {
    private let read: @Sendable () throws(NightjarError) -> JSONSchema
    private let cached = AtomicLazyReference<Loaded>()

    /// The result of parsing.
    private final class Loaded: Sendable {
        let result: Result<JSONSchema, NightjarError>

        init(_ result: Result<JSONSchema, NightjarError>) { self.result = result }
    }

    /// - Parameter read: parses the schema. Called by ``get()`` on the caller's thread until a result is cached,
    ///   possibly on several threads concurrently.
    public init(_ read: @escaping @Sendable () throws(NightjarError) -> JSONSchema) { self.read = read }

    public convenience init(_ schema: JSONSchema) {
        self.init { () throws(NightjarError) in schema }
        _ = cached.storeIfNil(Loaded(.success(schema)))
    }

    /// Returns the schema. Parses it on the first call.
    ///
    /// - Throws: the error of parsing, such as `invalid_argument` with the reason and location if the schema is
    ///   invalid. Later calls throw the same error.
    public func get() throws(NightjarError) -> JSONSchema {
        if let cached = cached.load() { return try cached.result.get() }
        return try cached.storeIfNil(Loaded(Result { () throws(NightjarError) in try read() })).result.get()
    }

    /// True if ``get()`` returns without parsing.
    public var isRead: Bool { cached.load() != nil }
}
