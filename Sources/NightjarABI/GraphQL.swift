import CNightjar
import Nightjar
import NightjarAPI
import NightjarHTTP
import NightjarHandles

/// A GraphQL schema as C sees it.
final class GraphQLSchemaBox: Sendable {
    let schema: GraphQLClient.Schema

    init(_ schema: GraphQLClient.Schema) { self.schema = schema }
}

@_cdecl("nj_request_set_graphql") @implementation
public func nj_request_set_graphql(
    _ request: OpaquePointer?, _ document: UnsafePointer<CChar>?, _ operationName: UnsafePointer<CChar>?,
    _ variables: UnsafePointer<CChar>?, _ variablesLength: Int, _ schema: OpaquePointer?,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<RequestBox>.borrow(request), "request")
        var changed = box.request
        changed.body = .none
        try changed.graphQL(
            try required(text(document), "document"), operation: try optional(operationName, "operation_name"),
            variables: variables == nil
                ? .null : try JSONValue(parsing: NightjarABI.document(variables, variablesLength)),
            checkedBy: Handle<GraphQLSchemaBox>.borrow(schema)?.schema)
        box.setBody(changed.body)
        box.request = changed
    }
}

@_cdecl("nj_pagination_set_graphql") @implementation
public func nj_pagination_set_graphql(
    _ pagination: OpaquePointer?, _ document: UnsafePointer<CChar>?, _ operationName: UnsafePointer<CChar>?,
    _ location: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<PaginationBox>.borrow(pagination), "pagination")
        let location = try optional(location, "at").map { text throws(NightjarError) in try JSONPointer(text) }
        let parsed = try GraphQLDocument(parsing: try required(text(document), "document"))
        let operation = try parsed.operation(try optional(operationName, "operation_name"))
        try parsed.connection(of: operation, at: location).apply(to: &box.pagination)
    }
}

@_cdecl("nj_graphql_schema_new") @implementation
public func nj_graphql_schema_new(
    _ json: UnsafePointer<CChar>?, _ length: Int, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        Handle.make(GraphQLSchemaBox(try GraphQLClient.Schema(json: try document(json, length))))
    }
}

@_cdecl("nj_client_load_graphql_schema") @implementation
public func nj_client_load_graphql_schema(
    _ client: OpaquePointer?, _ target: UnsafePointer<CChar>?, _ file: UnsafePointer<CChar>?, _ maximumAge: Double,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        let api = client.graphQL(try required(text(target), "target"))
        guard let age = Duration(seconds: maximumAge) else { throw .duration("max_age", maximumAge) }
        let path = try optional(file, "file")
        let schema = try api.loadSchemaBlocking(
            file: path.map { $0.isEmpty ? .none : .path($0) } ?? .standard, maximumAge: age)
        return Handle.make(GraphQLSchemaBox(schema))
    }
}

@_cdecl("nj_graphql_schema_free") @implementation
public func nj_graphql_schema_free(_ schema: OpaquePointer?) {
    _ = Handle<GraphQLSchemaBox>.take(schema)
}
