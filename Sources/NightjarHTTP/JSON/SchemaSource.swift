/// The location of a schema: a document and a pointer in it.
public struct SchemaPlace: Sendable, Hashable, CustomStringConvertible {
    /// The document's name for the ``SchemaSource``. Empty if there is only one.
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

    /// The location in the form `api.json#/components/schemas/User`.
    public var description: String { "\(document)#\(pointer)" }
}

/// Documents that contain schemas and refer to each other.
public protocol SchemaSource: Sendable {
    /// Returns the schema at a location.
    ///
    /// - Parameter limit: the number of JSON values that may still be created from the documents. Those created are
    ///   subtracted.
    /// - Throws: `invalid_argument` with the location. Also if the limit is exceeded.
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue

    /// Resolves a `$ref` in a document.
    ///
    /// - Throws: `invalid_argument` with the reference.
    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace
}
