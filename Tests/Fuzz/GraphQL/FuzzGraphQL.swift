import NIOCore
import NightjarAPI
import NightjarHTTP

/// Fuzzes the parser of GraphQL documents, the check of variables and the search for connections. Aborts if one of these
/// invariants is violated:
///
/// - A document, a schema, variables and a list are accepted, or rejected with an error of a documented kind.
/// - A document that is accepted is accepted again after white space and comments are added at both ends.
/// - The body of a request with an accepted operation has the document as its member `query`.
///
/// The input has three parts, separated by NUL: the document, the variables as JSON, and a schema as JSON.
func fuzzGraphQL(start: UnsafePointer<UInt8>?, count: Int) -> CInt {
    guard let start else { return 0 }
    let parts = UnsafeBufferPointer(start: start, count: count)
        .split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false)
    let text = String(decoding: parts[0], as: UTF8.self)
    let variables = parts.count > 1 ? json(parts[1]) : nil
    let schema = parts.count > 2 ? json(parts[2]).flatMap { try? GraphQLSchema(introspection: $0) } : nil
    do throws(NightjarError) {
        let document = try GraphQLDocument(parsing: text)
        guard (try? GraphQLDocument(parsing: "#\n\(text)\n# ,\n"))?.operations.count == document.operations.count else {
            fatalError("a comment changes the document")
        }
        for operation in document.operations {
            _ = try? document.connection(of: operation, at: nil)
            try operation.check(variables ?? .null, schema)
        }
        var content = GraphQLContent(query: text)
        content.operationName = document.operations.first?.name
        content.variables = variables ?? .null
        var request = Request(.post, "/graphql")
        try request.setGraphQL(content, document.operation(content.operationName))
        guard case .bytes(let body) = request.body,
            let sent = body.withUnsafeReadableBytes({ try? JSONValue(parsing: $0) }), sent["query"] == .string(text)
        else { fatalError("the body does not have the document") }
    } catch {
        guard [.invalidArgument, .tooLarge, .decoding, .invalidRequest].contains(error.kind) else {
            fatalError("unexpected error: \(error)")
        }
    }
    return 0
}

private func json(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> JSONValue? {
    try? JSONValue(parsing: UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: bytes)))
}
