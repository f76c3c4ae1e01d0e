import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// `/graphql` over WebSocket, tested with a plain socket.
@Suite struct GraphQLSocketTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func login() throws -> String {
        let login = try demo.send(
            "POST", "/v1/auth/login", json: #"{"email":"ada@example.org","password":"moonlight","expires_in":60}"#)
        return try #require(login.json["access_token"] as? String)
    }

    private func activeSubscriptions() throws -> Int? {
        try demo.fetch("/__stats").json["graphql_subscriptions"] as? Int
    }

    // MARK: Connection

    @Test func connectionIsAcknowledged() throws {
        let client = try GraphQLSocketClient(demo, protocols: "graphql-ws, graphql-transport-ws")
        #expect(client.socket.response["Sec-WebSocket-Protocol"] == "graphql-transport-ws")
        try client.send(#"{"type":"ping","payload":{"a":1}}"#)
        #expect(try client.receive() == #"{"type":"pong","payload":{"a":1}}"#)
        try client.send(#"{"type":"connection_init","payload":{"a":1}}"#)
        #expect(try client.receive() == #"{"type":"connection_ack"}"#)
        try client.send(#"{"type":"pong"}"#)
        try client.send(#"{"type":"ping"}"#)
        #expect(try client.receive() == #"{"type":"pong"}"#)
    }

    @Test(arguments: [nil, "graphql-ws", "v1"]) func otherSubprotocolIsRejected(protocols: String?) throws {
        let client = try GraphQLSocketClient(demo, protocols: protocols)
        #expect(client.socket.response["Sec-WebSocket-Protocol"] == nil)
        #expect(try client.receiveClose() == "4406 Subprotocol not acceptable")
    }

    @Test func connectionWithoutInitializationIsClosed() throws {
        let client = try GraphQLSocketClient(demo, "?init_timeout=0.01")
        #expect(try client.receiveClose() == "4408 Connection initialisation timeout")
        let silent = try GraphQLSocketClient(demo, "?init_timeout=1&ping=1")
        try silent.send(#"{"type":"connection_init"}"#)
        #expect(try silent.receive() == #"{"type":"ping"}"#)
        #expect(try silent.receiveClose() == "4408 Connection initialisation timeout")
    }

    @Test func serverWaitsForThePong() throws {
        let client = try GraphQLSocketClient(demo, "?ping=1&echo_payload=1")
        try client.send(#"{"type":"connection_init","payload":{"a":[1]}}"#)
        #expect(try client.receive() == #"{"type":"ping"}"#)
        try client.send(#"{"type":"pong"}"#)
        #expect(try client.receive() == #"{"type":"connection_ack","payload":{"a":[1]}}"#)
    }

    @Test func secondInitializationIsRejected() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.send(#"{"type":"connection_init"}"#)
        #expect(try client.receiveClose() == "4429 Too many initialisation requests")
    }

    @Test(arguments: ["", "?ping=1"]) func subscriptionNeedsAcknowledgement(query: String) throws {
        let client = try GraphQLSocketClient(demo, query)
        if !query.isEmpty {
            try client.send(#"{"type":"connection_init"}"#)
            #expect(try client.receive() == #"{"type":"ping"}"#)
        }
        try client.subscribe("1", "{ users { id } }")
        #expect(try client.receiveClose() == "4401 Unauthorized")
    }

    @Test(arguments: [
        "x", "[]", "1", "{}", #"{"type":1}"#, #"{"type":"start"}"#, #"{"type":"connection_ack"}"#,
        #"{"type":"connection_init","payload":1}"#, #"{"type":"ping","payload":[]}"#, #"{"type":"complete"}"#,
        #"{"type":"subscribe","payload":{"query":"{ users { id } }"}}"#,
        #"{"id":"","type":"subscribe","payload":{"query":"{ users { id } }"}}"#,
        #"{"id":1,"type":"subscribe","payload":{"query":"{ users { id } }"}}"#,
        #"{"id":"1","type":"subscribe"}"#, #"{"id":"1","type":"subscribe","payload":{"query":1}}"#,
        #"{"id":"1","type":"subscribe","payload":{"query":"{ users { id } }","variables":[]}}"#,
        #"{"id":"1","type":"subscribe","payload":{"query":"{ users { id } }","operationName":1}}"#,
    ]) func invalidMessageIsRejected(message: String) throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.send(message)
        #expect(try client.receiveClose().hasPrefix("4400 Invalid message: "))
    }

    @Test func inputIsBounded() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.send(String(repeating: " ", count: 1 << 20 + 1))
        #expect(try client.receiveClose() == "1009 the message is larger than 1048576 bytes")
        let other = try GraphQLSocketClient.acknowledged(demo)
        try other.socket.send(0x82, Array(#"{"type":"ping"}"#.utf8))
        #expect(try other.receiveClose() == "4400 Invalid message: it is not text")
        let long = try GraphQLSocketClient.acknowledged(demo)
        try long.subscribe(String(repeating: "i", count: 257), "{ users { id } }")
        #expect(try long.receiveClose().hasPrefix("4400 "))
    }

    // MARK: Token

    @Test func tokenIsRequired() throws {
        let token = try login()
        for payload in ["", #","payload":{}"#, #","payload":{"Authorization":"Bearer x"}"#] {
            let client = try GraphQLSocketClient(demo, "?token=required")
            try client.send(#"{"type":"connection_init"\#(payload)}"#)
            #expect(try client.receiveClose() == "4403 Forbidden")
        }
        let byPayload = try GraphQLSocketClient(demo, "?token=required")
        try byPayload.send(#"{"type":"connection_init","payload":{"Authorization":"Bearer \#(token)"}}"#)
        #expect(try byPayload.receive() == #"{"type":"connection_ack"}"#)
        let byField = try GraphQLSocketClient(demo, "?token=required", "Authorization: Bearer \(token)\r\n")
        try byField.send(#"{"type":"connection_init"}"#)
        #expect(try byField.receive() == #"{"type":"connection_ack"}"#)
        _ = try demo.control(#"{"expire_access_tokens": true}"#)
        #expect(try byPayload.receiveClose() == "4401 token expired")
        #expect(try byField.receiveClose() == "4401 token expired")
    }

    // MARK: Operations

    @Test func countdownIsCompleted() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.subscribe("a", "subscription($n: Int!) { countdown(from: $n) }", variables: #"{"n":2}"#)
        for number in [2, 1, 0] {
            #expect(
                try client.receive() == #"{"id":"a","type":"next","payload":{"data":{"countdown":\#(number)}}}"#)
        }
        #expect(try client.receive() == #"{"id":"a","type":"complete"}"#)
        #expect(try activeSubscriptions() == 0)
        try client.subscribe("a", "subscription { c: countdown(from: 0, delay: 0) }")
        #expect(try client.receive() == #"{"id":"a","type":"next","payload":{"data":{"c":0}}}"#)
        #expect(try client.receive() == #"{"id":"a","type":"complete"}"#)
    }

    @Test func manyResultsAreSentWithoutDelay() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.subscribe("a", "subscription { countdown(from: 5000, delay: 0) }")
        for number in (0...5000).reversed() {
            #expect(try client.receive().hasSuffix(#"{"countdown":\#(number)}}}"#))
        }
        #expect(try client.receive() == #"{"id":"a","type":"complete"}"#)
    }

    @Test func failureEndsTheSubscription() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.subscribe("f", "subscription { failing(after: 1) }")
        #expect(try client.receive() == #"{"id":"f","type":"next","payload":{"data":{"failing":1}}}"#)
        #expect(
            try client.receive()
                == #"{"id":"f","type":"error","payload":[{"message":"the subscription has failed","#
                + #""extensions":{"code":"SUBSCRIPTION_FAILED"}}]}"#)
        #expect(try activeSubscriptions() == 0)
        try client.subscribe("f", "subscription { failing }")
        #expect(try client.receive().hasPrefix(#"{"id":"f","type":"error","#))
    }

    @Test func queryHasOneResult() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.subscribe("q", "query($id: ID!) { article(id: $id) { id secret } }", variables: #"{"id":1}"#)
        let result = try client.receive()
        #expect(result.hasPrefix(#"{"id":"q","type":"next","payload":{"errors":[{"message":"#))
        #expect(result.hasSuffix(#""data":{"article":{"id":"1","secret":null}}}}"#))
        #expect(try client.receive() == #"{"id":"q","type":"complete"}"#)
        try client.subscribe("m", "mutation { deleteComment(id: 1) }")
        #expect(try client.receive() == #"{"id":"m","type":"next","payload":{"data":{"deleteComment":"1"}}}"#)
        #expect(try client.receive() == #"{"id":"m","type":"complete"}"#)
    }

    @Test(arguments: [
        ("{ x }", "the type Query has no field x"),
        ("subscription {", "expected a field, found the end"),
        ("subscription { __typename }", "a subscription must have exactly one field, and not __typename"),
        (
            "subscription { failing countdown(from: 1) }",
            "a subscription must have exactly one field, and not __typename"
        ),
        ("subscription { countdown(from: -1) }", "the argument from must not be negative"),
        ("subscription { countdown(from: 1, delay: 61) }", "the argument delay must be between 0 and 60 seconds"),
        ("subscription { commentAdded(articleId: 999) { id } }", "there is no such article"),
    ]) func invalidOperationReceivesErrors(query: String, message: String) throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.subscribe("1", query)
        #expect(try client.receive().hasPrefix(#"{"id":"1","type":"error","payload":[{"message":"\#(message)""#))
        #expect(try activeSubscriptions() == 0)
    }

    @Test func commentsAreDelivered() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        try client.subscribe("all", "subscription { commentAdded { body article { id } } }")
        try client.subscribe("one", "subscription { commentAdded(articleId: 2) { id } }")
        // The server has handled the subscriptions when it responds to the ping.
        try client.send(#"{"type":"ping"}"#)
        #expect(try client.receive() == #"{"type":"pong"}"#)
        #expect(try activeSubscriptions() == 2)
        let created = try demo.send("POST", "/v1/articles/1/comments", json: #"{"author_id": 1, "body": "first"}"#)
        #expect(created.status == 201)
        #expect(
            try client.receive()
                == #"{"id":"all","type":"next","payload":{"data":{"commentAdded":{"body":"first","#
                + #""article":{"id":"1"}}}}}"#)
        try client.send(#"{"id":"all","type":"complete"}"#)
        // By another operation of the same connection.
        try client.subscribe(
            "m", #"mutation { createComment(input: {articleId: 2, authorId: 1, body: "second"}) { id } }"#)
        let received = Set(try (0..<3).map { _ in try client.receive() })
        #expect(
            received == [
                #"{"id":"one","type":"next","payload":{"data":{"commentAdded":{"id":"62"}}}}"#,
                #"{"id":"m","type":"next","payload":{"data":{"createComment":{"id":"62"}}}}"#,
                #"{"id":"m","type":"complete"}"#,
            ])
        #expect(try activeSubscriptions() == 1)
        client.socket.socket.close()
        try eventually("the subscription ended") { demo.server.statistics.graphQLSubscriptions == 0 }
    }

    @Test func idIsUnique() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        for _ in 0..<2 { try client.subscribe("1", "subscription { commentAdded { id } }") }
        #expect(try client.receiveClose() == "4409 Subscriber for 1 already exists")
        #expect(demo.server.statistics.graphQLSubscriptions == 0)
    }

    @Test func subscriptionsAreBounded() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        for number in 0...100 { try client.subscribe("\(number)", "subscription { commentAdded { id } }") }
        #expect(
            try client.receive().hasPrefix(
                #"{"id":"100","type":"error","payload":[{"message":"the connection has 100 operations; complete one""#))
        #expect(demo.server.statistics.graphQLSubscriptions == 100)
        try client.send(#"{"id":"7","type":"complete"}"#)
        try client.subscribe("7", "subscription { countdown(from: 0) }")
        #expect(try client.receive() == #"{"id":"7","type":"next","payload":{"data":{"countdown":0}}}"#)
    }

    /// The client does not read, so that comments wait in the server.
    @Test func waitingCommentsAreBounded() throws {
        let client = try GraphQLSocketClient.acknowledged(demo)
        let fields = (0..<10).map { "b\($0): body" }.joined(separator: " ")
        try client.subscribe("slow", "subscription { commentAdded { \(fields) } }")
        try client.send(#"{"type":"ping"}"#)
        #expect(try client.receive() == #"{"type":"pong"}"#)
        let mutations = (0..<1500).map { "c\($0): createComment(input: $input) { id }" }.joined(separator: " ")
        let body = String(repeating: "x", count: 10_000)
        let writer = try GraphQLSocketClient.acknowledged(demo)
        try writer.subscribe(
            "m", "mutation($input: CreateCommentInput!) { \(mutations) }",
            variables: #"{"input":{"articleId":1,"authorId":1,"body":"\#(body)"}}"#)
        #expect(try writer.receive().contains(#""c1499":"#))
        var received = 0
        while true {
            let text = try client.receive()
            guard text.hasPrefix(#"{"id":"slow","type":"next","#) else {
                #expect(
                    text
                        == #"{"id":"slow","type":"error","payload":[{"message":"the client does not read fast enough","#
                        + #""extensions":{"code":"TOO_SLOW"}}]}"#)
                break
            }
            received += 1
        }
        #expect(received < 500)
        #expect(demo.server.statistics.graphQLSubscriptions == 0)
    }

    // MARK: Faults

    @Test func connectionIsDropped() throws {
        let client = try GraphQLSocketClient.acknowledged(demo, "?drop_after=2")
        try client.subscribe("1", "subscription { countdown(from: 5) }")
        for number in [5, 4] { #expect(try client.receive().hasSuffix(#"{"countdown":\#(number)}}}"#)) }
        #expect(try client.socket.socket.receive().isEmpty)
        #expect(demo.server.statistics.graphQLSubscriptions == 0)
    }

    @Test func connectionIsClosedWithTheCode() throws {
        let client = try GraphQLSocketClient.acknowledged(demo, "?close_after=1&code=4500")
        try client.subscribe("1", "subscription { countdown(from: 5) }")
        #expect(try client.receive().hasSuffix(#"{"countdown":5}}}"#))
        #expect(try client.receiveClose() == "4500 closed after 1 results")
    }

    @Test func requestWithoutUpgradeIsAnOrdinaryOne() throws {
        #expect(try demo.curl("/graphql?query=%7B__typename%7D").text == #"{"data":{"__typename":"Query"}}"#)
        #expect(try RawWebSocket(demo, "/graphql?code=x").response.status == 400)
        #expect(try RawWebSocket(demo, "/graphql", "Sec-WebSocket-Version: 8\r\n").response.status == 426)
    }
}
