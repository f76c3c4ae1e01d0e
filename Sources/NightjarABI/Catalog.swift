import CNightjar
import Nightjar
import NightjarHandles
import Synchronization

/// A catalog that C fills and reads, and the texts that C borrows.
final class CatalogBox: Sendable {
    private struct State {
        var catalog: Catalog
        var names = ExactDictionary<CString>()
        var descriptions = ExactDictionary<CString>()
        /// Descriptions of the whole catalog, all of which C may still use. If `isDescribed`, the last one is current.
        var whole: [CString] = []
        var isDescribed = false
    }

    private let state: Mutex<State>

    init(_ catalog: Catalog) { state = Mutex(State(catalog: catalog)) }

    var catalog: Catalog { state.withLock { $0.catalog } }

    func change(_ body: (inout Catalog) throws(NightjarError) -> Void) throws(NightjarError) {
        try state.withLock { state in
            state.isDescribed = false
            return Result { () throws(NightjarError) in try body(&state.catalog) }
        }.get()
    }

    func name(at index: Int) -> UnsafePointer<CChar>? {
        state.withLock { state in
            guard state.catalog.operations.indices.contains(index) else { return nil }
            let name = state.catalog.operations[index].name
            let text = state.names[name] ?? CString(name)
            state.names[name] = text
            return text.pointer
        }
    }

    /// A description stays valid, because endpoints can only be added.
    func description(of name: String) -> CString? {
        state.withLock { state in
            guard let operation = state.catalog[name] else { return nil }
            let text = state.descriptions[name] ?? CString(CatalogBox.text(operation.json))
            state.descriptions[name] = text
            return text
        }
    }

    /// The description of the whole catalog in its current state.
    var description: CString {
        state.withLock { state in
            if state.isDescribed, let last = state.whole.last { return last }
            let text = CString(CatalogBox.text(state.catalog.json))
            state.whole.append(text)
            state.isDescribed = true
            return text
        }
    }

    private static func text(_ value: JSONValue) -> String {
        // Encoding fails only for NaN and infinite numbers, which the examples of a document do not contain.
        (try? value.encoded()).map { String(buffer: $0) } ?? "{}"
    }
}

@_cdecl("nj_catalog_new") @implementation
public func nj_catalog_new() -> OpaquePointer! { Handle.make(CatalogBox(Catalog())) }

@_cdecl("nj_catalog_load_file") @implementation
public func nj_catalog_load_file(
    _ path: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        Handle.make(CatalogBox(try Catalog(openAPI: try required(text(path), "path"))))
    }
}

@_cdecl("nj_client_load_catalog") @implementation
public func nj_client_load_catalog(
    _ client: OpaquePointer?, _ location: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let client = try required(Handle<Client>.borrow(client), "client")
        return Handle.make(CatalogBox(try client.loadCatalogBlocking(from: try required(text(location), "location"))))
    }
}

@_cdecl("nj_catalog_free") @implementation
public func nj_catalog_free(_ catalog: OpaquePointer?) {
    _ = Handle<CatalogBox>.take(catalog)
}

@_cdecl("nj_catalog_add_json") @implementation
public func nj_catalog_add_json(
    _ catalog: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let box = try required(Handle<CatalogBox>.borrow(catalog), "catalog")
        let name = try required(text(name), "name")
        let json = try document(json, length)
        try box.change { catalog throws(NightjarError) in try catalog.add(name: name, json: json) }
    }
}

@_cdecl("nj_config_set_catalog") @implementation
public func nj_config_set_catalog(_ config: OpaquePointer?, _ catalog: OpaquePointer?) -> nj_status {
    changeConfig(config) { configuration throws(NightjarError) in
        configuration.catalog = Handle<CatalogBox>.borrow(catalog)?.catalog
    }
}

@_cdecl("nj_client_catalog") @implementation
public func nj_client_catalog(_ client: OpaquePointer?) -> OpaquePointer? {
    guard let client = Handle<Client>.borrow(client), !client.isOfParent else { return nil }
    return client.catalog.map { Handle.make(CatalogBox($0)) }
}

// MARK: Reading

@_cdecl("nj_catalog_count") @implementation
public func nj_catalog_count(_ catalog: OpaquePointer?) -> Int {
    Handle<CatalogBox>.borrow(catalog)?.catalog.operations.count ?? 0
}

@_cdecl("nj_catalog_name_at") @implementation
public func nj_catalog_name_at(_ catalog: OpaquePointer?, _ index: Int) -> UnsafePointer<CChar>? {
    Handle<CatalogBox>.borrow(catalog)?.name(at: index)
}

@_cdecl("nj_catalog_endpoint_json") @implementation
public func nj_catalog_endpoint_json(
    _ catalog: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    lend(text(name).flatMap { Handle<CatalogBox>.borrow(catalog)?.description(of: $0) }, outLength)
}

@_cdecl("nj_catalog_json") @implementation
public func nj_catalog_json(
    _ catalog: OpaquePointer?, _ outLength: UnsafeMutablePointer<Int>?
) -> UnsafePointer<CChar>? {
    lend(Handle<CatalogBox>.borrow(catalog)?.description, outLength)
}

// MARK: Requests

@_cdecl("nj_request_from_endpoint") @implementation
public func nj_request_from_endpoint(
    _ catalog: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    reporting(to: outError) { () throws(NightjarError) in
        let catalog = try required(Handle<CatalogBox>.borrow(catalog), "catalog").catalog
        let operation = try catalog.operation(try required(text(name), "name"))
        let box = RequestBox(Request(operation.method, operation.path))
        box.endpoint = RequestBox.EndpointCall(operation: operation)
        return Handle.make(box)
    }
}

/// - Throws: `invalid_argument` if the request does not call an endpoint.
private func changeEndpoint(
    _ request: OpaquePointer?, _ change: (inout RequestBox.EndpointCall) throws(NightjarError) -> Void
) throws(NightjarError) {
    let box = try required(Handle<RequestBox>.borrow(request), "request")
    guard var call = box.endpoint else {
        throw NightjarError(
            .invalidArgument, "the request does not call an endpoint; create it with nj_request_from_endpoint")
    }
    try change(&call)
    box.endpoint = call
}

@_cdecl("nj_request_set_argument") @implementation
public func nj_request_set_argument(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ value: UnsafePointer<CChar>?
) -> nj_status {
    setting { () throws(NightjarError) in
        let name = try required(text(name), "name")
        let value = try optional(value, "value")
        try changeEndpoint(request) { $0.set(name, value.map { .string($0) } ?? .null) }
    }
}

@_cdecl("nj_request_set_argument_json") @implementation
public func nj_request_set_argument_json(
    _ request: OpaquePointer?, _ name: UnsafePointer<CChar>?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let name = try required(text(name), "name")
        let value = try JSONValue(parsing: try document(json, length))
        try changeEndpoint(request) { $0.set(name, value) }
    }
}

@_cdecl("nj_request_set_argument_body_json") @implementation
public func nj_request_set_argument_body_json(
    _ request: OpaquePointer?, _ json: UnsafePointer<CChar>?, _ length: Int,
    _ outError: UnsafeMutablePointer<OpaquePointer?>?
) -> nj_status {
    setting(outError) { () throws(NightjarError) in
        let value = try JSONValue(parsing: try document(json, length))
        try changeEndpoint(request) { $0.arguments.body = .value(value) }
    }
}
