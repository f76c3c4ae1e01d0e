import CLua
import NIOCore
import Nightjar
import NightjarAPI
import NightjarHandles

// Script access to a client's endpoints.

/// A catalog as an object that C holds.
private final class ScriptCatalog: Sendable {
    let catalog: Catalog

    init(_ catalog: Catalog) { self.catalog = catalog }

    subscript(_ name: njl_bytes) -> Operation? {
        String(validating: name.buffer, as: UTF8.self).flatMap { catalog[$0] }
    }
}

@_cdecl("njl_client_catalog") @implementation
public func njl_client_catalog(_ client: OpaquePointer?) -> OpaquePointer? {
    Handle<ScriptCatalog>.make(ScriptCatalog(Handle<Client>.borrow(client)?.catalog ?? Catalog()))
}

@_cdecl("njl_catalog_release") @implementation
public func njl_catalog_release(_ catalog: OpaquePointer?) {
    Handle<ScriptCatalog>.release(catalog)
}

@_cdecl("njl_catalog_count") @implementation
public func njl_catalog_count(_ catalog: OpaquePointer?) -> Int {
    Handle<ScriptCatalog>.borrow(catalog)?.catalog.operations.count ?? 0
}

@_cdecl("njl_catalog_name") @implementation
public func njl_catalog_name(_ catalog: OpaquePointer?, _ index: Int) -> OpaquePointer? {
    guard let operations = Handle<ScriptCatalog>.borrow(catalog)?.catalog.operations, operations.indices.contains(index)
    else { return nil }
    return Handle<BorrowedText>.make(BorrowedText(operations[index].name))
}

@_cdecl("njl_catalog_help") @implementation
public func njl_catalog_help(_ catalog: OpaquePointer?, _ name: njl_bytes) -> OpaquePointer? {
    Handle<ScriptCatalog>.borrow(catalog)?[name].map { Handle<BorrowedText>.make(BorrowedText($0.help)) }
}

@_cdecl("njl_catalog_endpoint") @implementation
public func njl_catalog_endpoint(_ catalog: OpaquePointer?, _ name: njl_bytes) -> OpaquePointer? {
    guard let operation = Handle<ScriptCatalog>.borrow(catalog)?[name], let json = try? operation.json.encoded() else {
        return nil
    }
    return Handle<BorrowedText>.make(BorrowedText(String(buffer: json)))
}

@_cdecl("njl_catalog_check") @implementation
public func njl_catalog_check(
    _ catalog: OpaquePointer?, _ name: njl_bytes, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    refusing(error) { () throws(NightjarError) in
        guard let catalog, let holder = Handle<ScriptCatalog>.borrow(catalog) else {
            throw NightjarError(.closed, "the endpoints were released")
        }
        _ = try holder.catalog.operation(try name.text("the endpoint's name"))
        return catalog
    } != nil
}

@_cdecl("njl_catalog_has_parameter") @implementation
public func njl_catalog_has_parameter(
    _ catalog: OpaquePointer?, _ name: njl_bytes, _ parameter: njl_bytes
) -> Bool {
    guard let operation = Handle<ScriptCatalog>.borrow(catalog)?[name] else { return false }
    return operation.parameters.contains { parameter.buffer.elementsEqual($0.name.utf8) }
}

// MARK: Calls

extension Request {
    /// Creates the request of a script. If `source` names an endpoint, applies the endpoint and its arguments.
    init(_ source: njl_request, for client: Client) throws(NightjarError) {
        try self.init(methodAndTarget: source)
        try read(source, for: client)
    }

    mutating func read(_ source: njl_request, for client: Client) throws(NightjarError) {
        guard let operation = try source.operation else { return try read(source) }
        var arguments = Arguments()
        switch try source.arguments.length == 0 ? .object([]) : JSONValue(parsing: source.arguments.buffer) {
        case .object(let members): arguments.values = members.map { (name: $0.name, value: $0.value) }
        // Lua encodes an empty table as an empty list.
        case .array([]): break
        default:
            throw NightjarError(
                .invalidRequest,
                "endpoint \(quoted(operation.name)): arguments must have names, as in { id = 42 }, got a list")
        }
        if source.value.data != nil { arguments.body = .value(try JSONValue(parsing: source.value.buffer)) }
        try read(source)
        if !hasContent, let name = operation.memberOfBody(in: arguments) {
            throw NightjarError(
                .invalidRequest,
                "endpoint \(quoted(operation.name)) has no parameter \(quoted(name)), which is a member of its body; pass the "
                    + "body as json = { \(name) = ... }")
        }
        try client.apply(operation, arguments, to: &self)
    }
}

extension Request {
    fileprivate var hasContent: Bool { if case .none = body { false } else { true } }
}

extension njl_request {
    /// The endpoint that the request names; nil if it names none.
    var operation: Operation? {
        get throws(NightjarError) {
            guard endpoint.data != nil else { return nil }
            guard let catalog = Handle<ScriptCatalog>.borrow(catalog)?.catalog else {
                throw NightjarError(.closed, "the endpoints were released")
            }
            return try catalog.operation(try endpoint.text("the endpoint's name"))
        }
    }
}

// MARK: Loading

@_cdecl("njl_catalog_start") @implementation
public func njl_catalog_start(
    _ engine: OpaquePointer?, _ client: OpaquePointer?, _ location: njl_bytes, _ caller: Int64,
    _ wait: OpaquePointer?, _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> OpaquePointer? {
    refusing(error) { () throws(NightjarError) in
        guard let engine = Handle<Engine>.borrow(engine), let client = Handle<Client>.borrow(client), let wait else {
            throw NightjarError(.closed, "the client is closed")
        }
        return Handle<Future>.make(
            try engine.loadCatalog(
                from: try location.text("the location"), client, caller: caller, for: wait))
    }
}

@_cdecl("njl_future_catalog") @implementation
public func njl_future_catalog(_ future: OpaquePointer?, _ previous: OpaquePointer?) -> OpaquePointer? {
    guard let loaded = Handle<Future>.borrow(future)?.catalog else { return nil }
    guard let previous = Handle<ScriptCatalog>.borrow(previous)?.catalog, !previous.operations.isEmpty else {
        return Handle<ScriptCatalog>.make(ScriptCatalog(loaded))
    }
    var all = previous
    for operation in loaded.operations { all.set(operation) }
    return Handle<ScriptCatalog>.make(ScriptCatalog(all))
}
