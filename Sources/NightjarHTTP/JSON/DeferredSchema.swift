/// A schema that is read when it is first needed: of a large API most never are.
public final class DeferredSchema: Sendable {
    private let read: @Sendable () throws(NightjarError) -> JSONSchema
    private let kept = OnceReference<Kept>()

    /// What came of reading it.
    private final class Kept: Sendable {
        let result: Result<JSONSchema, NightjarError>

        init(_ result: Result<JSONSchema, NightjarError>) { self.result = result }
    }

    /// - Parameter read: run by whoever asks first, on its thread, and perhaps by several at once. What comes of it is kept.
    public init(_ read: @escaping @Sendable () throws(NightjarError) -> JSONSchema) { self.read = read }

    public convenience init(_ schema: JSONSchema) {
        self.init { () throws(NightjarError) in schema }
        _ = kept.storeIfNil(Kept(.success(schema)))
    }

    /// - Throws: `invalid_argument`, what is wrong with the schema and where.
    public func get() throws(NightjarError) -> JSONSchema {
        if let kept = kept.load() { return try kept.result.get() }
        return try kept.storeIfNil(Kept(Result { () throws(NightjarError) in try read() })).result.get()
    }

    /// Whether ``get()`` takes no time any more.
    public var isRead: Bool { kept.load() != nil }
}
