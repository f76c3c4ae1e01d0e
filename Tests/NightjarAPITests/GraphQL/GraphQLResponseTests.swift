import NIOCore
import NightjarHTTP
import Testing

@testable import NightjarAPI

/// Responses to GraphQL requests. GraphQL specification section 7.1.
@Suite struct GraphQLResponseTests {
    private func response(_ body: String, status: Int = 200) throws -> Response {
        let url = try RequestURL("https://api.example/graphql")
        return Response(head: ResponseHead(status: status), body: ByteBuffer(string: body), url: url)
    }

    @Test(arguments: [
        #"{"data": {}}"#, #"{"data": {"a": null}, "errors": [{"message": "x"}]}"#, #"{"errors": [], "data": {"a": 1}}"#,
        #"{"data": null}"#,
    ]) func responsesWithDataAreAccepted(body: String) throws {
        #expect(GraphQLResponse.problem(of: try response(body)) == nil)
    }

    @Test(arguments: [
        (#"{"errors": [{"message": "no"}]}"#, "the GraphQL server rejected the request: \"no\"", false),
        (
            #"{"data": null, "errors": [{"message": "a\nb"}, {"message": "c"}]}"#,
            "the GraphQL operation returned no data: \"a\\nb\" (and 1 more error)", true
        ),
        (
            #"{"errors": [{}, 1, 2]}"#,
            "the GraphQL server rejected the request: the server gave no reason (and 2 more errors)", false
        ),
    ]) func responsesWithoutDataAreErrors(body: String, message: String, wasProcessed: Bool) throws {
        let error = try #require(GraphQLResponse.problem(of: try response(body)))
        #expect(error.kind == .graphQL && error.message == message)
        #expect(error.requestMayHaveBeenProcessed == wasProcessed)
        #expect(!error.isRetryable && error.response != nil)
    }

    @Test(arguments: [
        "", " ", "{}", "[]", "1", "<html>", #"{"data": 1}"#, #"{"data": []}"#, #"{"errors": {}}"#, #"{"errors": []}"#,
    ])
    func otherResponsesCannotBeDecoded(body: String) throws {
        let error = try #require(GraphQLResponse.problem(of: try response(body)))
        #expect(error.kind == .decoding)
        #expect(error.message.hasPrefix("the response is not a GraphQL response: "))
    }

    /// Statuses with a kind of their own keep this kind.
    @Test func errorsOfUnexpectedStatusesAreRead() throws {
        let body = #"{"errors": [{"message": "no"}]}"#
        let error = GraphQLResponse.problem(ofUnexpected: try response(body, status: 400), .client)
        #expect(error?.kind == .graphQL && error?.status == 400)
        #expect(GraphQLResponse.problem(ofUnexpected: try response(body, status: 401), .unauthorized) == nil)
        #expect(GraphQLResponse.problem(ofUnexpected: try response(body, status: 503), .server) == nil)
        #expect(GraphQLResponse.problem(ofUnexpected: try response("{}", status: 400), .client) == nil)
        #expect(GraphQLResponse.problem(ofUnexpected: try response("<p>", status: 400), .client) == nil)
    }
}
