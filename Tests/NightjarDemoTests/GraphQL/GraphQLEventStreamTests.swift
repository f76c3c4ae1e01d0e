import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// `/graphql` with `Accept: text/event-stream`.
@Suite struct GraphQLEventStreamTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func post(_ query: String, _ parameters: String = "") throws -> CurlResponse {
        let body = try JSONEncoder().encode(["query": query])
        return try demo.curl(
            "/graphql\(parameters)",
            [
                "-X", "POST", "-H", "Content-Type: application/json", "-H", "Accept: text/event-stream",
                "--data-binary", "@-",
            ], input: Bytes(body))
    }

    private func next(_ data: String) -> String { "event: next\ndata: \(data)\n\n" }

    private let complete = "event: complete\ndata: \n\n"

    @Test func resultsAreSentAsEvents() throws {
        let response = try post("subscription { countdown(from: 1) }")
        #expect(response.status == 200)
        #expect(response["Content-Type"] == "text/event-stream")
        #expect(
            response.text
                == ":\n\n" + next(#"{"data":{"countdown":1}}"#) + next(#"{"data":{"countdown":0}}"#) + complete)
        #expect(demo.server.statistics.graphQLSubscriptions == 0)
    }

    @Test func requestsCanBeSentByGet() throws {
        let query = "subscription%7Bcountdown(from:0)%7D"
        let response = try demo.curl("/graphql?query=\(query)", ["-H", "Accept: text/event-stream"])
        #expect(response.text == ":\n\n" + next(#"{"data":{"countdown":0}}"#) + complete)
        let ordinary = try demo.curl("/graphql?query=\(query)")
        #expect(ordinary.text.contains("a subscription needs text/event-stream or a WebSocket"))
        let mutation = try demo.curl(
            "/graphql?query=mutation%7BdeleteComment(id:1)%7D", ["-H", "Accept: text/event-stream"])
        #expect(mutation.status == 400)
    }

    @Test func queryHasOneResult() throws {
        #expect(try post("{ __typename }").text == ":\n\n" + next(#"{"data":{"__typename":"Query"}}"#) + complete)
        #expect(
            try post("mutation { deleteComment(id: 1) }").text
                == ":\n\n" + next(#"{"data":{"deleteComment":"1"}}"#) + complete)
    }

    @Test func failureIsTheLastResult() throws {
        let failure = #"{"message":"the subscription has failed","extensions":{"code":"SUBSCRIPTION_FAILED"}}"#
        #expect(
            try post("subscription { failing(after: 1) }").text
                == ":\n\n" + next(#"{"data":{"failing":1}}"#) + next(#"{"errors":[\#(failure)]}"#) + complete)
    }

    @Test func invalidRequestIsNotExecuted() throws {
        let response = try post("subscription { x }")
        #expect(response.status == 400)
        #expect(response["Content-Type"] == "application/json")
        let errors =
            #"{"errors":[{"message":"the type Subscription has no field x","#
            + #""locations":[{"line":1,"column":16}]}]}"#
        #expect(response.text == errors)
        let stream = try post("subscription { x }", "?errors=event")
        #expect(stream.status == 200)
        #expect(stream.text == next(errors) + complete)
    }

    @Test func connectionIsDropped() throws {
        let body = #"{"query":"subscription { countdown(from: 5) }"}"#
        let socket = try demo.begin(
            "POST", "/graphql?drop_after=2", type: "application/json", body: body, "Accept: text/event-stream\r\n")
        let text = String(decoding: Array(try socket.receiveToEnd()), as: UTF8.self)
        #expect(text.contains(#"{"countdown":4}"#) && !text.contains(#"{"countdown":3}"#))
        #expect(!text.contains("complete") && !text.hasSuffix("0\r\n\r\n"))
        #expect(demo.server.statistics.graphQLSubscriptions == 0)
    }

    @Test func commentsAreDeliveredUntilTheClientDisconnects() throws {
        let body = #"{"query":"subscription { commentAdded(articleId: 1) { id body } }"}"#
        let socket = try demo.begin(
            "POST", "/graphql", type: "application/json", body: body, "Accept: text/event-stream\r\n")
        _ = try socket.receive(through: ":\n\n")
        #expect(demo.server.statistics.graphQLSubscriptions == 1)
        for (article, text) in [(2, "other"), (1, "first"), (1, "second")] {
            let created = try demo.send(
                "POST", "/v1/articles/\(article)/comments", json: #"{"author_id": 1, "body": "\#(text)"}"#)
            #expect(created.status == 201)
        }
        let events = String(decoding: Array(try socket.receive(through: #""second"}}}"#)), as: UTF8.self)
        #expect(events.contains(next(#"{"data":{"commentAdded":{"id":"62","body":"first"}}}"#)))
        #expect(!events.contains("other"))
        _ = try demo.curl("/__stats/reset", ["-X", "POST"])
        #expect(try demo.curl("/__stats").json["graphql_subscriptions"] as? Int == 1)
        socket.close()
        try eventually("the subscription ended") { demo.server.statistics.graphQLSubscriptions == 0 }
    }
}
