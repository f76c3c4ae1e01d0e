import NIOCore
import NightjarAPI
import NightjarHTTP

/// A call with a typed response.
///
///     extension Endpoint where Response == Article {
///         static func article(id: Int) -> Self { .get("/articles/{id}", ["id": id]) }
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
    /// The options for decoding the value. Nil: the client's ``Configuration/decoding``.
    public var decoding: JSONDecodingOptions?
    /// Encodes the body with the client's options. Nil: the body is in ``arguments``.
    private var encode: (@Sendable (JSONEncodingOptions) throws(NightjarError) -> JSONValue)?
    /// The error of a text that is not a JSON Pointer; thrown by ``makeRequest()``.
    private var pointerFailure: NightjarError?

    package init(
        _ operation: Operation, _ arguments: Arguments = [:], at pointer: some JSONLocation = JSONPointer(),
        decoding: JSONDecodingOptions? = nil
    ) {
        self.operation = operation
        self.arguments = arguments
        self.decoding = decoding
        request = Request(operation.method, operation.path)
        do throws(NightjarError) {
            self.pointer = try pointer.jsonPointer()
        } catch {
            self.pointer = JSONPointer()
            pointerFailure = NightjarError(error.kind, "endpoint \(quoted(operation.name)): \(error.message)")
        }
    }

    /// Returns the validated request with its arguments applied.
    ///
    /// - Throws: `invalid_request` with the endpoint and the parameter; `invalid_argument` if a text is not a JSON Pointer;
    ///   the error of the encoding of the body.
    public func makeRequest() throws(NightjarError) -> Request { try makeRequest(JSONEncodingOptions()) }

    /// - Parameter encoding: The options for encoding a body without options of its own.
    func makeRequest(_ encoding: JSONEncodingOptions) throws(NightjarError) -> Request {
        if let pointerFailure { throw pointerFailure }
        var request = request
        var arguments = arguments
        if let encode { arguments.body = .value(try encode(encoding)) }
        try operation.apply(arguments, to: &request)
        return request
    }
}

// MARK: Factories

/// Endpoints from a method and a path. An argument replaces its name in braces in the path, for example `{id}`. Other
/// arguments are added to the query. Arguments that are nil or null are omitted.
extension Endpoint {
    public static func get(
        _ path: String, _ arguments: Arguments = [:], at pointer: some JSONLocation = JSONPointer(),
        decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.get, path, arguments, pointer, decoding) }

    public static func delete(
        _ path: String, _ arguments: Arguments = [:], at pointer: some JSONLocation = JSONPointer(),
        decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.delete, path, arguments, pointer, decoding) }

    public static func post(
        _ path: String, _ arguments: Arguments = [:], at pointer: some JSONLocation = JSONPointer(),
        decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.post, path, arguments, pointer, decoding) }

    /// - Parameters:
    ///   - body: Encoded as JSON when the call is made.
    ///   - encoding: Nil: the client's ``Configuration/encoding``.
    @_disfavoredOverload
    public static func post(
        _ path: String, _ arguments: Arguments = [:], body: some Encodable & Sendable,
        encoding: JSONEncodingOptions? = nil,
        at pointer: some JSONLocation = JSONPointer(), decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.post, path, arguments, pointer, decoding).sending(body, encoding) }

    @_disfavoredOverload
    public static func put(
        _ path: String, _ arguments: Arguments = [:], body: some Encodable & Sendable,
        encoding: JSONEncodingOptions? = nil,
        at pointer: some JSONLocation = JSONPointer(), decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.put, path, arguments, pointer, decoding).sending(body, encoding) }

    @_disfavoredOverload
    public static func patch(
        _ path: String, _ arguments: Arguments = [:], body: some Encodable & Sendable,
        encoding: JSONEncodingOptions? = nil,
        at pointer: some JSONLocation = JSONPointer(), decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.patch, path, arguments, pointer, decoding).sending(body, encoding) }

    private static func make(
        _ method: Method, _ path: String, _ arguments: Arguments, _ pointer: some JSONLocation,
        _ decoding: JSONDecodingOptions?
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

    // MARK: Bodies from literals

    /// - Parameter body: A JSON value, which can be a literal with variables: `["id": id, "title": title]`.
    public static func post(
        _ path: String, _ arguments: Arguments = [:], body: JSONValue, at pointer: some JSONLocation = JSONPointer(),
        decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.post, path, arguments, pointer, decoding).sending(body) }

    /// - Parameter body: A JSON value, which can be a literal with variables: `["id": id, "title": title]`.
    public static func put(
        _ path: String, _ arguments: Arguments = [:], body: JSONValue, at pointer: some JSONLocation = JSONPointer(),
        decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.put, path, arguments, pointer, decoding).sending(body) }

    /// - Parameter body: A JSON value, which can be a literal with variables: `["id": id, "title": title]`.
    public static func patch(
        _ path: String, _ arguments: Arguments = [:], body: JSONValue, at pointer: some JSONLocation = JSONPointer(),
        decoding: JSONDecodingOptions? = nil
    ) -> Endpoint { make(.patch, path, arguments, pointer, decoding).sending(body) }

    /// Returns the endpoint with a JSON body, which can be a literal with variables. The body is validated against the
    /// operation's schema if it has one.
    public func sending(_ body: JSONValue) -> Endpoint {
        var endpoint = self
        if endpoint.operation.content == nil {
            endpoint.operation.content = RequestContent([.init("application/json")])
        }
        endpoint.encode = nil
        endpoint.arguments.body = .value(body)
        return endpoint
    }

    /// Returns the endpoint with a JSON body. The body is validated against the operation's schema if it has one.
    ///
    /// - Parameters:
    ///   - body: Encoded when the call is made.
    ///   - encoding: Nil: the client's ``Configuration/encoding``.
    @_disfavoredOverload
    public func sending(_ body: some Encodable & Sendable, _ encoding: JSONEncodingOptions? = nil) -> Endpoint {
        var endpoint = self
        if endpoint.operation.content == nil {
            endpoint.operation.content = RequestContent([.init("application/json")])
        }
        endpoint.encode = { (options) throws(NightjarError) in try JSONValue(encoding: body, encoding ?? options) }
        return endpoint
    }
}

extension Catalog {
    /// Returns the endpoint with this name and these arguments.
    ///
    /// - Throws: `invalid_request` if there is no such endpoint. The message suggests a similar name, if there is one.
    public func endpoint<Response>(
        _ name: String, as type: Response.Type = Response.self, _ arguments: Arguments = [:],
        at pointer: some JSONLocation = JSONPointer(), decoding: JSONDecodingOptions? = nil
    ) throws(NightjarError) -> Endpoint<Response> {
        Endpoint(try operation(name), arguments, at: pointer, decoding: decoding)
    }
}
