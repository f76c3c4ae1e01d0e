import NIOCore
import NightjarHTTP

/// A call that knows what it is answered.
///
///     extension Endpoint where Response == Article {
///         static func article(id: Int) -> Self { .get("/articles/{id}", ["id": .integer(Int64(id))]) }
///     }
///     let article = try await client.send(.article(id: 42))
///
/// `Response` is what a `Decodable` type reads of the answer's JSON, `Void` where nothing is read, `ByteBuffer` for the
/// content as it is, or `NightjarHTTP.Response` for all of the answer.
public struct Endpoint<Response>: Sendable {
    /// What is asked for.
    public var operation: Operation
    /// With which values.
    public var arguments: Arguments
    /// What the call has of its own: headers, query, limits of time, expected statuses. Method, target and body are the
    /// operation's.
    public var request: Request
    /// Where in the answer the value is; empty: it is all of it.
    public var pointer: JSONPointer
    /// How it is read.
    public var decoding: JSONDecodingOptions
    /// Why the body could not be written.
    private var failure: NightjarError?

    public init(
        _ operation: Operation, _ arguments: Arguments = [:], at pointer: JSONPointer = JSONPointer(),
        decoding: JSONDecodingOptions = .init()
    ) {
        self.operation = operation
        self.arguments = arguments
        self.pointer = pointer
        self.decoding = decoding
        request = Request(operation.method, operation.path)
    }

    /// What is sent: checked, its values in their places.
    ///
    /// - Throws: `invalid_request`, naming endpoint and parameter.
    public func makeRequest() throws(NightjarError) -> Request {
        if let failure { throw failure }
        var request = request
        try operation.apply(arguments, to: &request)
        return request
    }
}

// MARK: Factories

/// Of a method and a path. Values whose names are in the braces of the path go there, and others into the query; null is
/// left out.
extension Endpoint {
    public static func get(
        _ path: String, _ arguments: Arguments = [:], at pointer: JSONPointer = JSONPointer(),
        decoding: JSONDecodingOptions = .init()
    ) -> Endpoint { make(.get, path, arguments, pointer, decoding) }

    public static func delete(
        _ path: String, _ arguments: Arguments = [:], at pointer: JSONPointer = JSONPointer(),
        decoding: JSONDecodingOptions = .init()
    ) -> Endpoint { make(.delete, path, arguments, pointer, decoding) }

    public static func post(
        _ path: String, _ arguments: Arguments = [:], at pointer: JSONPointer = JSONPointer(),
        decoding: JSONDecodingOptions = .init()
    ) -> Endpoint { make(.post, path, arguments, pointer, decoding) }

    /// - Parameter body: sent as JSON; what cannot be written is told when the call is made.
    public static func post(
        _ path: String, _ arguments: Arguments = [:], body: some Encodable, encoding: JSONEncodingOptions = .init(),
        at pointer: JSONPointer = JSONPointer(), decoding: JSONDecodingOptions = .init()
    ) -> Endpoint { make(.post, path, arguments, pointer, decoding).sending(body, encoding) }

    public static func put(
        _ path: String, _ arguments: Arguments = [:], body: some Encodable, encoding: JSONEncodingOptions = .init(),
        at pointer: JSONPointer = JSONPointer(), decoding: JSONDecodingOptions = .init()
    ) -> Endpoint { make(.put, path, arguments, pointer, decoding).sending(body, encoding) }

    public static func patch(
        _ path: String, _ arguments: Arguments = [:], body: some Encodable, encoding: JSONEncodingOptions = .init(),
        at pointer: JSONPointer = JSONPointer(), decoding: JSONDecodingOptions = .init()
    ) -> Endpoint { make(.patch, path, arguments, pointer, decoding).sending(body, encoding) }

    private static func make(
        _ method: Method, _ path: String, _ arguments: Arguments, _ pointer: JSONPointer,
        _ decoding: JSONDecodingOptions
    ) -> Endpoint {
        var operation = Operation("\(method) \(path)", method, path)
        let named = Operation.names(inPath: path)
        operation.parameters = arguments.values.map(\.name).reduce(into: []) { parameters, name in
            guard !named.contains(where: { $0.isExactly(name) }),
                !parameters.contains(where: { $0.name.isExactly(name) })
            else { return }
            parameters.append(Parameter(name, in: .query))
        }
        // Bytes, files and forms say themselves what they are.
        if arguments.body != nil { operation.content = RequestContent([.init("application/json"), .init("*/*")]) }
        return Endpoint(operation, arguments, at: pointer, decoding: decoding)
    }

    /// The same with a body of JSON, whose schema is the operation's where that has one.
    ///
    /// - Parameter body: what cannot be written is told when the call is made.
    public func sending(_ body: some Encodable, _ encoding: JSONEncodingOptions = .init()) -> Endpoint {
        var endpoint = self
        if endpoint.operation.content == nil {
            endpoint.operation.content = RequestContent([.init("application/json")])
        }
        do throws(NightjarError) {
            endpoint.arguments.body = .value(try JSONValue(encoding: body, encoding))
            endpoint.failure = nil
        } catch {
            endpoint.failure = error
        }
        return endpoint
    }
}

extension Catalog {
    /// The endpoint of that name with these values.
    ///
    /// - Throws: `invalid_request` with the nearest name there is.
    public func endpoint<Response>(
        _ name: String, as type: Response.Type = Response.self, _ arguments: Arguments = [:],
        at pointer: JSONPointer = JSONPointer(), decoding: JSONDecodingOptions = .init()
    ) throws(NightjarError) -> Endpoint<Response> {
        Endpoint(try operation(name), arguments, at: pointer, decoding: decoding)
    }
}
