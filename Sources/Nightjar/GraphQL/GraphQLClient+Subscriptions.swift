import NightjarAPI
import NightjarHTTP

extension GraphQLClient {
    /// How the results of a subscription are sent.
    public enum SubscriptionTransport: Sendable {
        /// A WebSocket with the protocol graphql-transport-ws.
        ///
        /// - Parameters:
        ///   - initialization: The payload of connection_init: an object, or null.
        ///   - sendsAuthorization: Whether the Authorization field of the handshake is a member of the payload. Some
        ///     servers read the token only there.
        case webSocket(initialization: JSONValue = .null, sendsAuthorization: Bool = false)
        /// An event stream (GraphQL over server-sent events, distinct connections).
        case events
    }

    /// Subscribes to an operation, when the first result is read. If the connection is lost, the client connects again,
    /// with a new token if the old one has expired, and subscribes again. Results that the server has sent meanwhile are
    /// lost.
    ///
    /// - Throws: `invalid_argument` with the position of a syntax error, or with the name of a variable that does not fit.
    public func subscribe(
        _ document: String, variables: JSONValue = .null, operation: String? = nil,
        over transport: SubscriptionTransport = .webSocket()
    ) throws(NightjarError) -> Subscription {
        var content = GraphQLContent(query: document)
        (content.variables, content.operationName, content.kind) = (variables, operation, .subscription)
        switch transport {
        case .webSocket(let initialization, let sendsAuthorization):
            (content.initialization, content.sendsAuthorization) = (initialization, sendsAuthorization)
            var settings = WebSocketSettings()
            settings.reconnects = true
            settings.reconnectCodes.formUnion(WebSocketSettings.subscriptionCodes)
            settings.subprotocol = try GraphQLSubscription(content, schema?.types)
            var handshake = request
            (handshake.method, handshake.body) = (.get, .none)
            return Subscription(.webSocket(client, handshake, settings))
        case .events:
            let (_, chosen) = try content.parsed(schema?.types)
            var sent = request
            sent.method = .post
            try sent.setGraphQL(content, chosen)
            return Subscription(.events(try client.events(sent)))
        }
    }

    /// The results of a subscription, for one `for try await` loop. The loop ends when the server completes the
    /// subscription, and throws `graphql` if the server ends it with errors. Leaving the loop ends the subscription.
    public struct Subscription: AsyncSequence, Sendable {
        public typealias Element = GraphQLResult
        public typealias Failure = NightjarError

        enum Source: Sendable {
            case webSocket(Client, Request, WebSocketSettings)
            case events(Events)
        }

        private let source: Source

        init(_ source: Source) { self.source = source }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(source) }

        /// Reads the results. For one Swift task.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let source: Source
            private var messages: WebSocket.AsyncIterator?
            private var events: Events.AsyncIterator?
            private var hasEnded = false

            init(_ source: Source) { self.source = source }

            /// Returns the next result, or nil at the end.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NightjarError) -> GraphQLResult? {
                guard !hasEnded else { return nil }
                let text: String?
                switch source {
                case .webSocket(let client, let request, let settings):
                    text = try await message(client, request, settings, actor)
                case .events(let stream): text = try await event(stream, actor)
                }
                guard let text else {
                    (hasEnded, messages, events) = (true, nil, nil)
                    return nil
                }
                return GraphQLResult(try JSONValue(parsing: text), nil)
            }

            private mutating func message(
                _ client: Client, _ request: Request, _ settings: WebSocketSettings, _ actor: isolated (any Actor)?
            ) async throws(NightjarError) -> String? {
                if messages == nil { messages = try client.webSocket(request, settings).makeAsyncIterator() }
                guard case .text(let text)? = try await messages?.next(isolation: actor) else { return nil }
                return text
            }

            private mutating func event(
                _ stream: Events, _ actor: isolated (any Actor)?
            ) async throws(NightjarError) -> String? {
                if events == nil { events = stream.makeAsyncIterator() }
                while let event = try await events?.next(isolation: actor) {
                    switch event.type {
                    case "next": return event.data
                    case "complete": return nil
                    default: break
                    }
                }
                return nil
            }
        }
    }
}
