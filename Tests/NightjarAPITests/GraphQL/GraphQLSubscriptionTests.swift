import NIOCore
import NightjarHTTP
import Testing

@testable import NightjarAPI

/// The protocol graphql-transport-ws, as conversations.
@Suite struct GraphQLSubscriptionTests {
    private typealias Action = WebSocketSubprotocolAction

    private static func make(_ change: (inout GraphQLContent) -> Void = { _ in }) throws -> GraphQLSubscription {
        var content = GraphQLContent(query: "subscription { a }")
        change(&content)
        return try GraphQLSubscription(content)
    }

    private static func text(_ text: String) -> WebSocketMessage { .text(text) }

    private static let initial = Action.send(text(#"{"type":"connection_init"}"#))
    private static let subscribe = Action.send(
        text(#"{"type":"subscribe","id":"1","payload":{"query":"subscription { a }"}}"#))

    @Test func resultsAreDelivered() throws {
        var subscription = try Self.make()
        #expect(!subscription.isReady)
        #expect(subscription.opened(authorization: nil) == [Self.initial])
        #expect(subscription.received(Self.text(#"{"type":"connection_ack"}"#)) == [Self.subscribe])
        #expect(subscription.isReady)
        let next = Self.text(#"{ "type": "next", "id": "1", "payload": {"data": {"a": 1.50}} }"#)
        #expect(subscription.received(next) == [.deliver(Self.text(#"{"data": {"a": 1.50}}"#))])
        #expect(subscription.received(Self.text(#"{"id":"1","type":"complete"}"#)) == [.complete])
        #expect(subscription.received(next) == [])
    }

    @Test func pingsAreReturnedAtAnyTime() throws {
        var subscription = try Self.make()
        _ = subscription.opened(authorization: nil)
        #expect(
            subscription.received(Self.text(#"{"type":"ping","payload":{"x":1}}"#))
                == [.send(Self.text(#"{"type":"pong","payload":{"x":1}}"#))])
        _ = subscription.received(Self.text(#"{"type":"connection_ack","payload":{}}"#))
        #expect(subscription.received(Self.text(#"{"type":"ping"}"#)) == [.send(Self.text(#"{"type":"pong"}"#))])
        #expect(subscription.received(Self.text(#"{"type":"pong"}"#)) == [])
    }

    @Test func operationIsSubscribedAgainOverAnotherConnection() throws {
        var subscription = try Self.make()
        _ = subscription.opened(authorization: nil)
        _ = subscription.received(Self.text(#"{"type":"connection_ack"}"#))
        #expect(subscription.opened(authorization: nil) == [Self.initial])
        #expect(!subscription.isReady)
        #expect(subscription.received(Self.text(#"{"type":"connection_ack"}"#)) == [Self.subscribe])
    }

    @Test func authorizationIsAddedToThePayload() throws {
        var subscription = try Self.make {
            $0.sendsAuthorization = true
            $0.initialization = ["a": 1, "Authorization": "old"]
        }
        let added = #"{"type":"connection_init","payload":{"a":1,"Authorization":"Bearer t"}}"#
        #expect(subscription.opened(authorization: "Bearer t") == [.send(Self.text(added))])
        let own = #"{"type":"connection_init","payload":{"a":1,"Authorization":"old"}}"#
        #expect(subscription.opened(authorization: nil) == [.send(Self.text(own))])
    }

    @Test func errorEndsTheSubscription() throws {
        var subscription = try Self.make()
        _ = subscription.opened(authorization: nil)
        _ = subscription.received(Self.text(#"{"type":"connection_ack"}"#))
        let actions = subscription.received(
            Self.text(#"{"type":"error","id":"1","payload":[{"message":"no"},{"message":"x"}]}"#))
        #expect(
            actions == [
                .fail(NightjarError(.graphQL, "the GraphQL server ended the subscription: \"no\" (and 1 more error)"))
            ])
        #expect(subscription.received(Self.text(#"{"type":"complete","id":"1"}"#)) == [])
    }

    @Test(arguments: [
        ("{", "a message that is not JSON text"), ("[]", "a message without type"),
        (#"{"type":1}"#, "a message without type"), (#"{"type":"data"}"#, "a message of the unknown type \"data\""),
        (#"{"type":"connection_ack"}"#, "connection_ack at the wrong time"),
        (#"{"type":"next","id":"2","payload":{}}"#, "next for another subscription"),
        (#"{"type":"next","id":1,"payload":{}}"#, "next for another subscription"),
        (#"{"type":"next","payload":{}}"#, "next for another subscription"),
        (#"{"type":"next","id":"1"}"#, "next without a result"),
        (#"{"type":"next","id":"1","payload":[]}"#, "next without a result"),
        (#"{"type":"error","id":"1","payload":{}}"#, "error without a list of errors"),
        (#"{"type":"complete","id":"9"}"#, "complete for another subscription"),
    ]) func violationsFail(message: String, what: String) throws {
        var subscription = try Self.make()
        _ = subscription.opened(authorization: nil)
        _ = subscription.received(Self.text(#"{"type":"connection_ack"}"#))
        #expect(
            subscription.received(Self.text(message))
                == [.fail(NightjarError(.protocol, "the server violated graphql-transport-ws: it sent \(what)"))])
    }

    @Test(arguments: ["next", "error", "complete"]) func contentBeforeTheAcknowledgementFails(type: String) throws {
        var subscription = try Self.make()
        _ = subscription.opened(authorization: nil)
        let actions = subscription.received(Self.text(#"{"type":"\#(type)","id":"1","payload":{}}"#))
        let message = "the server violated graphql-transport-ws: it sent \(type) at the wrong time"
        #expect(actions == [.fail(NightjarError(.protocol, message))])
    }

    @Test func binaryMessageFails() throws {
        var subscription = try Self.make()
        _ = subscription.opened(authorization: nil)
        let actions = subscription.received(WebSocketMessage(.binary, ByteBuffer(string: #"{"type":"ping"}"#)))
        #expect(actions.count == 1)
        guard case .fail = actions[0] else { return #expect(Bool(false)) }
    }

    @Test(
        arguments: [
            (4400, ErrorKind.protocol), (4401, .unauthorized), (4403, .forbidden), (4406, .protocol), (4408, .protocol),
            (4409, .protocol), (4429, .rateLimited), (4500, .server),
        ] as [(UInt16, ErrorKind)]) func closeCodesHaveKinds(code: UInt16, kind: ErrorKind) throws
    {
        let closure = WebSocketClosure(WebSocketCloseCode(rawValue: code), reason: "Why")
        let error = try Self.make().error(closure)
        #expect(error?.kind == kind)
        #expect(error?.message == "the GraphQL server closed the subscription with \(code): \"Why\"")
    }

    @Test func unauthorizedAndForbiddenRejectTheToken() throws {
        let codes = (UInt16(4000)...4999).filter { code in
            (try? Self.make().rejectsToken(WebSocketClosure(WebSocketCloseCode(rawValue: code)))) == true
        }
        #expect(codes == [4401, 4403])
    }

    @Test func otherCloseCodesHaveNoError() throws {
        for code in [1000, 1001, 1006, 1011, 4999] as [UInt16] {
            #expect(try Self.make().error(WebSocketClosure(WebSocketCloseCode(rawValue: code))) == nil)
        }
    }

    @Test func otherOperationsAreRejected() {
        for query in ["{ a }", "mutation { a }", "subscription($b: Int!) { a }", "subscription {"] {
            #expect(throws: NightjarError.self) { try Self.make { $0.query = query } }
        }
    }
}
