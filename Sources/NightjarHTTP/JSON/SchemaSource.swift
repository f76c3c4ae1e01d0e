/// Where a schema is: in which document, and where in that.
public struct SchemaPlace: Sendable, Hashable, CustomStringConvertible {
    /// As the ``SchemaSource`` names it; empty for the only one there is.
    public var document: String
    public var pointer: JSONPointer

    public init(document: String, pointer: JSONPointer) {
        self.document = document
        self.pointer = pointer
    }

    /// `api.json#/components/schemas/User`
    public var description: String { "\(document)#\(pointer)" }
}

/// Documents that schemas are in and refer to each other across.
public protocol SchemaSource: Sendable {
    /// The schema there.
    ///
    /// - Throws: `invalid_argument`, naming the place.
    func schema(at place: SchemaPlace) throws(NightjarError) -> JSONValue

    /// Where a `$ref` of a document leads.
    ///
    /// - Throws: `invalid_argument`, naming the reference.
    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace
}
