import NightjarHTTP

/// The response to a GraphQL operation: data, and the errors of fields that the server could not resolve.
public struct GraphQLResult: Sendable {
    /// An error that the server reports. GraphQL specification section 7.1.2.
    public struct FieldError: Sendable, Equatable {
        public let message: String
        /// The location of the field in the data. Empty if the error belongs to no field.
        public let path: JSONPointer
        /// `extensions.code`, by which most servers classify errors. Nil if there is none.
        public let code: String?
        /// Further members for the program, or null.
        public let extensions: JSONValue

        init(_ value: JSONValue) {
            message = if case .string(let text)? = value["message"] { text } else { "" }
            var tokens: [String] = []
            if case .array(let elements)? = value["path"] {
                for element in elements {
                    switch element {
                    case .string(let text): tokens.append(text)
                    case .integer(let index): tokens.append(String(index))
                    default: break
                    }
                }
            }
            path = JSONPointer(tokens: tokens)
            extensions = value["extensions"] ?? .null
            code = if case .string(let text)? = extensions["code"] { text } else { nil }
        }

        /// The errors in a list of a response.
        static func all(in list: JSONValue?) -> [FieldError] {
            guard case .array(let values)? = list else { return [] }
            return values.map(FieldError.init)
        }
    }

    /// The data. Fields with errors are null.
    public let data: JSONValue
    /// The errors of fields. Empty if the data is complete.
    public let errors: [FieldError]
    /// Further members of the server, or null.
    public let extensions: JSONValue
    /// The response. Nil for a result of a subscription.
    public let response: Response?

    init(_ response: Response) throws(NightjarError) { self.init(try response.json, response) }

    init(_ document: JSONValue, _ response: Response?) {
        self.response = response
        data = document["data"] ?? .null
        errors = FieldError.all(in: document["errors"])
        extensions = document["extensions"] ?? .null
    }

    /// Decodes the data, or the part of it at `location`, as in `at: "/articles"`.
    ///
    /// - Parameter options: Nil for the options of the client, ``Configuration/decoding``.
    /// - Throws: `invalid_argument` if `location` is not a JSON Pointer. `decoding` with the path, and the expected and actual values.
    public func decode<Value: Decodable>(
        _ type: Value.Type, at location: some JSONLocation = JSONPointer(), _ options: JSONDecodingOptions? = nil
    ) throws(NightjarError) -> Value {
        try data.decode(type, at: location, options ?? response?.decoding ?? JSONDecodingOptions())
    }
}

extension NightjarError {
    /// The errors of a GraphQL server, in ``response``. Empty for other errors.
    public var graphQLErrors: [GraphQLResult.FieldError] {
        guard kind == .graphQL, let document = try? response?.json else { return [] }
        return GraphQLResult.FieldError.all(in: document["errors"])
    }
}
