/// A response to a GraphQL request. GraphQL specification section 7.1.
package enum GraphQLResponse {
    /// The media type of the GraphQL over HTTP draft.
    package static let mediaType = "application/graphql-response+json"
    /// The value of the Accept field. Servers that predate the draft send application/json.
    package static let accepted = "application/graphql-response+json, application/json;q=0.9"

    /// Returns the error of a successful response that has no data: `graphql` with the server's first message, or
    /// `decoding` if the response is not a GraphQL response. Returns nil for a response with data, whose `errors` describe
    /// the fields that are missing.
    package static func problem(of response: Response) -> NightjarError? {
        response.body.withUnsafeReadableBytes { bytes in
            guard !bytes.allSatisfy(ASCII.isWhitespace) else {
                return decoding("it has no body", response)
            }
            do throws(NightjarError) { try JSONValue.check(bytes) } catch {
                return error.kind == .decoding ? decoding("it is \(error.message)", response) : error
            }
            let ranges = JSONRanges(bytes)
            let document = ranges.document
            let data = ranges.value(at: JSONPointer(tokens: ["data"]), in: document)
            let errors = ranges.value(at: JSONPointer(tokens: ["errors"]), in: document).flatMap(ranges.value)
            let isNull = data.flatMap(ranges.first) == UInt8(ascii: "n")
            if let data, !isNull {
                return ranges.first(data) == UInt8(ascii: "{") ? nil : decoding("its data is not an object", response)
            }
            guard case .array(let list)? = errors, !list.isEmpty else {
                return isNull ? nil : decoding("it has neither data nor errors", response)
            }
            return failure(list, response, wasExecuted: isNull)
        }
    }

    /// Returns the error of a response with an unexpected status, or nil if the response has no GraphQL errors.
    /// A status such as 401 or 503 keeps its own kind.
    package static func problem(ofUnexpected response: Response, _ kind: ErrorKind) -> NightjarError? {
        guard kind == .client, let document = try? response.json, case .array(let list)? = document["errors"],
            !list.isEmpty, document["data"] ?? .null == .null
        else { return nil }
        return failure(list, response, wasExecuted: document["data"] != nil)
    }

    /// - Parameter wasExecuted: False if the server rejected the request before its execution.
    private static func failure(_ errors: [JSONValue], _ response: Response, wasExecuted: Bool) -> NightjarError {
        let what = wasExecuted ? "the GraphQL operation returned no data" : "the GraphQL server rejected the request"
        return NightjarError(
            .graphQL, message(errors, what), response: response, details: ErrorBody(response),
            wasProcessed: wasExecuted)
    }

    /// The error of a subscription, which has no response.
    static func failure(_ errors: [JSONValue], _ what: String) -> NightjarError {
        NightjarError(.graphQL, message(errors, what), phase: .receive, requestMayHaveBeenProcessed: true)
    }

    private static func message(_ errors: [JSONValue], _ what: String) -> String {
        var reason = "the server gave no reason"
        if case .string(let text)? = errors.first?["message"], !text.isEmpty {
            reason = quoted(text, limit: longestMessage)
        }
        let others = errors.count > 1 ? " (and \(counted(errors.count - 1, "more error")))" : ""
        return "\(what): \(reason)\(others)"
    }

    private static func decoding(_ reason: String, _ response: Response) -> NightjarError {
        NightjarError(.decoding, "the response is not a GraphQL response: \(reason)").about(response)
    }

    /// The maximum length of the server's message in a message, in code points. The response has the whole text.
    private static let longestMessage = 200
}
