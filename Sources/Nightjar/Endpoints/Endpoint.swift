import NIOCore
import NightjarAPI
import NightjarHTTP

/// A call with a typed response.
///
///     extension Endpoint where Response == Article {
///         static func article(id: Int) -> Self { .get("/articles/{id}", ["id": .integer(Int64(id))]) }
///     }
///     let article = try await client.send(.article(id: 42))
///
/// `Response` is a `Decodable` type for JSON responses, `Void` to ignore the body, `ByteBuffer` for the raw body, or
/// `NightjarHTTP.Response` for the whole response.
public struct Endpoint<Response>: Sendable {
    /// The called operation.
    package var operation: Operation
    /// The values of the operation's parameters.
    public var arguments: Arguments
    /// The options of the call: headers, query, timeouts, expected statuses. The operation determines the method and
    /// the target, and the arguments contain the body.
    public var request: Request
    /// The position of the value in the response. Empty: the whole body.
    public var pointer: JSONPointer
    /// How the value is decoded.
    public var decoding: JSONDecodingOptions
    /// The error that occurred when the body was encoded; thrown by ``makeRequest()``.
    private var failure: NightjarError?

    package init(
        _ operation: Operation, _ arguments: Arguments = [:], at pointer: JSONPointer = JSONPointer(),
        decoding: JSONDecodingOptions = .init()
    ) {
        self.operation = operation
        self.arguments = arguments
        self.pointer = pointer
        self.decoding = decoding
        request = Request(operation.method, operation.path)
    }

    /// Returns the validated request with its arguments applied.
    ///
    /// - Throws: `invalid_request` with the endpoint and the parameter; the error that occurred when the body was
    ///   encoded.
    public func makeRequest() throws(NightjarError) -> Request {
        if let failure { throw failure }
        var request = request
        try operation.apply(arguments, to: &request)
        return request
    }
}

// MARK: Factories

/// Endpoints from a method and a path. An argument replaces its name in braces in the path, for example `{id}`. Other
/// arguments are added to the query. Null arguments are omitted.
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

    /// - Parameter body: Encoded as JSON. An encoding error is thrown when the call is made.
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
        // The range accepts bodies of other media types, such as files and forms.
        if arguments.body != nil { operation.content = RequestContent([.init("application/json"), .init("*/*")]) }
        return Endpoint(operation, arguments, at: pointer, decoding: decoding)
    }

    /// Returns the endpoint with a JSON body. The body is validated against the operation's schema if it has one.
    ///
    /// - Parameter body: An encoding error is thrown when the call is made.
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
    /// Returns the endpoint with this name and these arguments.
    ///
    /// - Throws: `invalid_request` if there is no such endpoint. The message suggests a similar name, if there is one.
    public func endpoint<Response>(
        _ name: String, as type: Response.Type = Response.self, _ arguments: Arguments = [:],
        at pointer: JSONPointer = JSONPointer(), decoding: JSONDecodingOptions = .init()
    ) throws(NightjarError) -> Endpoint<Response> {
        Endpoint(try operation(name), arguments, at: pointer, decoding: decoding)
    }
}
