import CLua
import Nightjar
import NightjarAPI
import NightjarHTTP
import NightjarHandles
import Synchronization

/// The operations of modules/lua/graphql.lua, by name. They run on a worker thread, because schemas may be large.
final class GraphQLWork: Sendable {
    typealias Work = @Sendable () throws(NightjarError) -> WorkValue

    /// The schemas of the script, by the key of the endpoint.
    private let schemas = Mutex<[String: GraphQLSchema]>([:])

    /// Returns the operation with this name.
    ///
    /// - Returns: nil if the name is unknown or the arguments do not match the operation.
    func named(_ name: String, _ arguments: [ScriptValue]) -> Work? {
        let texts = arguments.map {
            if case .string(let bytes) = $0 { String(decoding: bytes, as: UTF8.self) } else { "" }
        }
        switch name {
        case "graphql.connection" where texts.count == 3:
            return { () throws(NightjarError) in try GraphQLWork.connection(texts[0], texts[1], texts[2]) }
        case "graphql.load" where texts.count == 3:
            guard case .integer(let seconds) = arguments[2] else { return nil }
            return { [self] () throws(NightjarError) in try load(texts[0], texts[1], .seconds(seconds)) }
        case "graphql.set" where texts.count == 3:
            guard case .string(let document) = arguments[2] else { return nil }
            return { [self] () throws(NightjarError) in try set(texts[0], texts[1], document) }
        case "graphql.check" where texts.count == 4:
            return { [self] () throws(NightjarError) in try check(texts[0], texts[1], texts[2], texts[3]) }
        case "graphql.kind" where texts.count == 2:
            return { () throws(NightjarError) in
                let chosen = try GraphQLDocument(parsing: texts[0]).operation(texts[1].isEmpty ? nil : texts[1])
                return .one(.string(Array(chosen.kind.rawValue.utf8)))
            }
        case "graphql.query":
            return { () throws(NightjarError) in .one(.string(Array(GraphQLSchema.introspectionQuery.utf8))) }
        default: return nil
        }
    }

    /// Returns the pagination options of a connection as JSON.
    private static func connection(
        _ document: String, _ operation: String, _ location: String
    ) throws(NightjarError) -> WorkValue {
        let parsed = try GraphQLDocument(parsing: document)
        let chosen = try parsed.operation(operation.isEmpty ? nil : operation)
        let place = location.isEmpty ? nil : try JSONPointer(location)
        let text = try parsed.connection(of: chosen, at: place).options.encoded()
        return .one(.string(Array(text.readableBytesView)))
    }

    /// Loads a schema from its file. The result is true if the schema is known afterwards.
    private func load(_ key: String, _ path: String, _ age: Duration) throws(NightjarError) -> WorkValue {
        guard let schema = try GraphQLWork.file(path, key)?.read(maximumAge: age) else { return .one(.boolean(false)) }
        schemas.withLock { $0[key] = schema }
        return .one(.boolean(true))
    }

    /// Uses the result of an introspection query, and stores it in a file.
    private func set(_ key: String, _ path: String, _ document: [UInt8]) throws(NightjarError) -> WorkValue {
        let value = try document.withUnsafeBytes { bytes in
            Result { () throws(NightjarError) in try JSONValue(parsing: bytes) }
        }.get()
        let schema = try GraphQLSchema(introspection: value)
        schemas.withLock { $0[key] = schema }
        try GraphQLWork.file(path, key)?.write(document)
        return .nothing
    }

    private func check(
        _ key: String, _ document: String, _ operation: String, _ variables: String
    ) throws(NightjarError) -> WorkValue {
        let chosen = try GraphQLDocument(parsing: document).operation(operation.isEmpty ? nil : operation)
        try chosen.check(try JSONValue(parsing: variables), schemas.withLock { $0[key] })
        return .nothing
    }

    /// Returns the names that can follow an incomplete document. Empty if the schema is not loaded.
    func completions(_ key: String, _ text: String, _ kind: String) -> [String] {
        guard let schema = schemas.withLock({ $0[key] }) else { return [] }
        return (try? schema.completions(of: text, GraphQLDocument.Kind(rawValue: kind) ?? .query)) ?? []
    }

    /// Returns the file for a schema.
    ///
    /// - Parameter path: Empty: the standard file.
    private static func file(_ path: String, _ key: String) -> GraphQLSchemaFile? {
        path.isEmpty ? .standard(for: key) : GraphQLSchemaFile(path)
    }
}

@_cdecl("njl_graphql_key") @implementation
public func njl_graphql_key(
    _ client: OpaquePointer?, _ target: njl_bytes, _ key: UnsafeMutablePointer<CChar>?,
    _ error: UnsafeMutablePointer<OpaquePointer?>?
) -> Bool {
    do throws(NightjarError) {
        guard let client = Handle<Client>.borrow(client) else {
            throw NightjarError(.invalidArgument, "the client is closed")
        }
        let text = try client.key(of: Request(.post, try target.text("the path")))
        for (index, byte) in text.utf8.enumerated() where index < Int(NJL_DIGEST_TEXT) {
            key?[index] = CChar(bitPattern: byte)
        }
        return true
    } catch let failure {
        error?.pointee = Handle<Future>.make(Future(.failure(failure)))
        return false
    }
}

@_cdecl("njl_graphql_complete") @implementation
public func njl_graphql_complete(
    _ engine: OpaquePointer?, _ key: njl_bytes, _ text: njl_bytes, _ kind: njl_bytes
) -> OpaquePointer? {
    let names = Handle<Engine>.borrow(engine)?.graphQLWork.completions(
        String(decoding: key.buffer, as: UTF8.self), String(decoding: text.buffer, as: UTF8.self),
        String(decoding: kind.buffer, as: UTF8.self))
    return Handle.make(BorrowedText((names ?? []).joined(separator: "\n")))
}
