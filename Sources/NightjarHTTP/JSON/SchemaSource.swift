/// Where a schema is: in which document, and where in that.
public struct SchemaPlace: Sendable, Hashable, CustomStringConvertible {
    /// As the ``SchemaSource`` names it; empty for the only one there is.
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

    /// `api.json#/components/schemas/User`
    public var description: String { "\(document)#\(pointer)" }
}

/// Documents that schemas are in and refer to each other across.
public protocol SchemaSource: Sendable {
    /// The schema there.
    ///
    /// - Parameter limit: JSON values that may still be made of the documents; what is made is subtracted.
    /// - Throws: `invalid_argument`, naming the place; also where the limit is exceeded.
    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue

    /// Where a `$ref` of a document leads.
    ///
    /// - Throws: `invalid_argument`, naming the reference.
    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace
}
