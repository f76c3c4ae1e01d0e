/// A schema that is parsed on first use, because most schemas of a large API are never used.
public final class DeferredSchema: Sendable {
    private let read: @Sendable () throws(NightjarError) -> JSONSchema
    private let kept = OnceReference<Kept>()

    /// The result of parsing.
    private final class Kept: Sendable {
        let result: Result<JSONSchema, NightjarError>

        init(_ result: Result<JSONSchema, NightjarError>) { self.result = result }
    }

    /// - Parameter read: called on the thread of the first caller, possibly on several threads at once. Its result is
    ///   cached.
    public init(_ read: @escaping @Sendable () throws(NightjarError) -> JSONSchema) { self.read = read }

    public convenience init(_ schema: JSONSchema) {
        self.init { () throws(NightjarError) in schema }
        _ = kept.storeIfNil(Kept(.success(schema)))
    }

    /// - Throws: `invalid_argument` with the reason and location if the schema is invalid.
    public func get() throws(NightjarError) -> JSONSchema {
        if let kept = kept.load() { return try kept.result.get() }
        return try kept.storeIfNil(Kept(Result { () throws(NightjarError) in try read() })).result.get()
    }

    /// True if ``get()`` returns without parsing.
    public var isRead: Bool { kept.load() != nil }
}
