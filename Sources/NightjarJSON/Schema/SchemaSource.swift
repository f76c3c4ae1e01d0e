/// The place of a schema: a document and a position in it.
public struct SchemaPlace: Sendable, Hashable, CustomStringConvertible {
    /// The document's name in the ``SchemaSource``. Empty if there is only one document.
    public var document: String
    public var pointer: JSONPointer

    public init(document: String, pointer: JSONPointer) {
        self.document = document
        self.pointer = pointer
    }

    public static func == (a: SchemaPlace, b: SchemaPlace) -> Bool {
        a.document.isExactly(b.document) && a.pointer == b.pointer
    }

    public func hash(into hasher: inout Hasher) {
        document.hashExactly(into: &hasher)
        pointer.hash(into: &hasher)
    }

    /// For example `api.json#/components/schemas/User`.
    public var description: String { "\(document)#\(pointer)" }
}

/// A set of documents that contain schemas and references between the schemas.
public protocol SchemaSource: Sendable {
    /// Returns the schema at a place.
    ///
    /// - Parameter limit: the number of JSON values that may still be created from the documents. Decremented.
    /// - Throws: `invalid_argument`, naming the place, if the place has no schema or the limit is exceeded.
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue

    /// Resolves a `$ref` of a document.
    ///
    /// - Throws: `invalid_argument` or `invalid_url` if the reference cannot be resolved.
    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace
}
