/// A schema that is read when it is first needed: of a large API most never are.
public final class DeferredSchema: Sendable {
    private let read: @Sendable () throws(NightjarError) -> JSONSchema

    /// - Parameter read: run by whoever asks, on its thread, and perhaps by several at once.
    public init(_ read: @escaping @Sendable () throws(NightjarError) -> JSONSchema) { self.read = read }

    public convenience init(_ schema: JSONSchema) { self.init { () throws(NightjarError) in schema } }

    /// - Throws: `invalid_argument`, what is wrong with the schema and where.
    public func get() throws(NightjarError) -> JSONSchema { try read() }
}
