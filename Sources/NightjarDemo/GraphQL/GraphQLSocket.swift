import NIOCore
import NIOHTTP1

/// `GET /graphql` over WebSocket: the subprotocol graphql-transport-ws. ``GraphQLSocketSettings`` describes the parameters.
///
///     new ──connection_init──▶ pinged ──pong──▶ acknowledged
///       └──────connection_init, without ping=1──────▲
final class GraphQLSocket: WebSocketEndpoint {
    static let subprotocol = "graphql-transport-ws"

    /// The maximum number of operations at the same time.
    private static let maximumOperations = 100

    /// The time between two checks of the token.
    private static let checkInterval = TimeAmount.milliseconds(50)

    private enum State {
        case new
        /// The server waits for the pong.
        case pinged(payload: JSON?)
        case acknowledged
    }

    private final class Operation {
        let results: GraphQLResults
        /// True until the time of the next step.
        var isWaiting = false

        init(_ results: GraphQLResults) { self.results = results }
    }

    private let schema: GraphQL.Schema
    private let store: Store
    private let tokens: Tokens
    private let ledger: Ledger
    private let settings: GraphQLSocketSettings
    private var state = State.new
    private var token: String?
    private var operations: [String: Operation] = [:]
    /// The number of `next` messages.
    private var sent = 0

    init(
        _ schema: GraphQL.Schema, _ store: Store, _ tokens: Tokens, _ ledger: Ledger,
        _ settings: GraphQLSocketSettings
    ) {
        (self.schema, self.store, self.tokens, self.ledger) = (schema, store, tokens, ledger)
        self.settings = settings
    }

    // MARK: Events

    func opened(_ session: WebSocketSession) {
        guard session.agreement.subprotocol == GraphQLSocket.subprotocol else {
            close(session, 4406, "Subprotocol not acceptable")
            return
        }
        session.after(settings.timeout) { [self, session] in
            if case .acknowledged = state { return }
            close(session, 4408, "Connection initialisation timeout")
        }
    }

    func received(_ message: WebSocketMessage, _ session: WebSocketSession) {
        guard message.bytes.readableBytes <= GraphQLClientMessage.maximumSize else {
            close(
                session, WebSocketCloseCode.tooLarge.rawValue,
                "the message is larger than \(GraphQLClientMessage.maximumSize) bytes")
            return
        }
        do throws(GraphQLClientMessage.Invalid) {
            switch try GraphQLClientMessage(message) {
            case .initialize(let payload): initialize(payload, session)
            case .ping(let payload): send("pong", payload: payload, session)
            case .pong: if case .pinged(let payload) = state { acknowledge(payload, session) }
            case .subscribe(let id, let request): subscribe(id, request, session)
            case .complete(let id): operations.removeValue(forKey: id)?.results.end()
            }
        } catch {
            close(session, 4400, error.reason)
        }
    }

    func becameWritable(_ session: WebSocketSession) {
        for id in operations.keys { advance(id, session) }
    }

    func closed(_ session: WebSocketSession) { endOperations() }

    private func endOperations() {
        for operation in operations.values { operation.results.end() }
        operations = [:]
    }

    private func close(_ session: WebSocketSession, _ code: Int, _ reason: String) {
        endOperations()
        session.close(code: code, reason: reason)
    }

    // MARK: Connection

    private func initialize(_ payload: JSON?, _ session: WebSocketSession) {
        guard case .new = state else {
            close(session, 4429, "Too many initialisation requests")
            return
        }
        if let code = settings.initialCode { return close(session, code, "closed after connection_init") }
        if settings.needsToken {
            token = settings.token
            if case .string(let text)? = payload?["Authorization"] {
                token = Credentials(["Authorization": text])?.bearer
            }
            guard let token, tokens.isValid(token) else {
                close(session, 4403, "Forbidden")
                return
            }
            watchToken(token, session)
        }
        if settings.sendsPing {
            state = .pinged(payload: payload)
            send("ping", session)
        } else {
            acknowledge(payload, session)
        }
    }

    private func acknowledge(_ payload: JSON?, _ session: WebSocketSession) {
        state = .acknowledged
        send("connection_ack", payload: settings.echoesPayload ? payload : nil, session)
    }

    /// Checks the token regularly, because it can also end before it expires.
    private func watchToken(_ token: String, _ session: WebSocketSession) {
        session.after(GraphQLSocket.checkInterval) { [self, session] in
            if tokens.isValid(token) {
                watchToken(token, session)
            } else {
                close(session, WebSocketCloseCode.tokenExpired.rawValue, "token expired")
            }
        }
    }

    // MARK: Operations

    private func subscribe(_ id: String, _ request: GraphQLRequest, _ session: WebSocketSession) {
        guard case .acknowledged = state else {
            close(session, 4401, "Unauthorized")
            return
        }
        guard operations[id] == nil else {
            close(session, 4409, "Subscriber for \(id) already exists")
            return
        }
        do throws(GraphQL.Executor.Failures) {
            guard operations.count < GraphQLSocket.maximumOperations else {
                let message = "the connection has \(GraphQLSocket.maximumOperations) operations; complete one"
                throw .init(all: [.init(message: message, code: "TOO_MANY_OPERATIONS")])
            }
            let results = try GraphQLResults(try request.executor(schema), store, ledger)
            operations[id] = Operation(results)
            results.onEvent = { [weak self, weak session] in
                if let session { self?.advance(id, session) }
            }
            advance(id, session)
        } catch {
            send("error", id: id, payload: error.json, session)
        }
    }

    /// Sends the results that are due, as far as the client reads them.
    private func advance(_ id: String, _ session: WebSocketSession) {
        while let operation = operations[id], !operation.isWaiting, session.isWritable, session.state == .open {
            switch operation.results.step() {
            case .next(let result):
                send("next", id: id, payload: result, session)
                sent += 1
                endIfDue(session)
            case .failed(let errors):
                finish(id)
                send("error", id: id, payload: errors, session)
            case .complete:
                finish(id)
                send("complete", id: id, session)
            case .wait(let pause):
                operation.isWaiting = true
                session.after(pause) { [self, session] in
                    operation.isWaiting = false
                    if operations[id] === operation { advance(id, session) }
                }
            case .idle: return
            }
        }
    }

    private func finish(_ id: String) { operations.removeValue(forKey: id)?.results.end() }

    private func endIfDue(_ session: WebSocketSession) {
        if sent == settings.dropLimit {
            endOperations()
            session.drop()
        } else if sent == settings.closeLimit {
            close(session, settings.closeCode, "closed after \(sent) results")
        }
    }

    private func send(_ type: String, id: String? = nil, payload: JSON? = nil, _ session: WebSocketSession) {
        var members: [JSON.Member] = []
        if let id { members.append(.init(name: "id", value: .string(id))) }
        members.append(.init(name: "type", value: .string(type)))
        if let payload { members.append(.init(name: "payload", value: payload)) }
        session.send(.object(members))
    }
}
