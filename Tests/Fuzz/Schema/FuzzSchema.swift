import NightjarHTTP

/// Fuzzes schemas. Aborts if one of these invariants is violated:
///
/// - A schema is parsed or rejected with `invalid_argument`. A document is accepted or rejected with `decoding`. Both end
///   within libFuzzer's time limit and do not crash.
/// - Messages are not empty and their length is bounded.
/// - A schema accepts the example that it generates.
///
/// Each schema is parsed both as a user schema and as a schema of a description. The first byte selects the dialect and
/// the use. The bytes before the first NUL are the schema, and the rest is a document.
func fuzzSchema(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start, count >= 2 else { return 0 }
    let input = UnsafeBufferPointer(start: start, count: count)
    let parts = input.dropFirst().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
    guard let schema = value(parts.first) else { return 0 }
    let document = value(parts.dropFirst().first) ?? schema
    let own = read { () throws(NightjarError) in try JSONSchema(schema) }
    let place = SchemaPlace(document: "api.json", pointer: JSONPointer())
    let foreign = read { () throws(NightjarError) in
        try JSONSchema(
            at: place, in: Document(root: schema), dialect: input[0] & 1 == 0 ? .openAPI31 : .openAPI30)
    }
    for schema in [own, foreign].compactMap({ $0 }) {
        do throws(NightjarError) {
            try schema.check(document, use: input[0] & 2 == 0 ? .any : .request)
        } catch {
            require(error.kind == .decoding, "an error of kind \(error.kind.name)")
            require(!error.message.isEmpty && error.message.utf8.count < 4000, "an empty or too long message")
        }
        if let example = schema.example() {
            require(schema.mismatch(in: example) == nil, "an invalid example")
        }
        _ = schema.shape
        _ = schema.elements?.shape
        for property in schema.properties { _ = property.schema.isBinary }
        require(schema.notes.count <= 1000, "notes without a bound")
    }
    return 0
}

private struct Document: SchemaSource {
    let root: JSONValue

    func schema(at place: SchemaPlace, limit: inout Int) throws(NightjarError) -> JSONValue {
        guard let schema = place.pointer.value(in: root) else {
            throw NightjarError(.invalidArgument, "no schema at \(place)")
        }
        return schema
    }

    func place(of reference: String, in document: String) throws(NightjarError) -> SchemaPlace {
        let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        return SchemaPlace(document: document, pointer: try JSONPointer(parts.count > 1 ? String(parts[1]) : ""))
    }
}

private func value(_ bytes: UnsafeBufferPointer<UInt8>.SubSequence?) -> JSONValue? {
    guard let bytes else { return nil }
    return try? JSONValue(parsing: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes)))
}

private func read(_ make: () throws(NightjarError) -> JSONSchema) -> JSONSchema? {
    do throws(NightjarError) {
        return try make()
    } catch {
        require(error.kind == .invalidArgument, "an error of kind \(error.kind.name)")
        require(!error.message.isEmpty && error.message.utf8.count < 4000, "an empty or too long message")
        return nil
    }
}

private func require(_ condition: Bool, _ broken: @autoclosure () -> String) {
    if !condition { fatalError(broken()) }
}
