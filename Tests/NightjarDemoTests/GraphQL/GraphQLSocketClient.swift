import Foundation
import NightjarTestSupport

/// A client of the subprotocol graphql-transport-ws on a plain socket.
struct GraphQLSocketClient {
    let socket: RawWebSocket

    /// - Parameters:
    ///   - query: The query of the URL, with its question mark.
    ///   - fields: Header fields, each with its line break.
    init(_ demo: Demo, _ query: String = "", protocols: String? = "graphql-transport-ws", _ fields: String = "") throws
    {
        let protocols = protocols.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
        socket = try RawWebSocket(demo, "/graphql\(query)", protocols + fields)
        guard socket.isOpen else { throw ToolFailure(description: "the status is \(socket.response.status)") }
    }

    /// Opens a connection and receives its acknowledgement.
    static func acknowledged(_ demo: Demo, _ query: String = "") throws -> GraphQLSocketClient {
        let client = try GraphQLSocketClient(demo, query)
        try client.send(#"{"type":"connection_init"}"#)
        let received = try client.receive()
        guard received == #"{"type":"connection_ack"}"# else { throw ToolFailure(description: received) }
        return client
    }

    func send(_ text: String) throws { try socket.send(text: text) }

    func subscribe(_ id: String, _ query: String, variables: String = "{}") throws {
        let text = String(decoding: try JSONEncoder().encode(query), as: UTF8.self)
        try send(#"{"id":"\#(id)","type":"subscribe","payload":{"query":\#(text),"variables":\#(variables)}}"#)
    }

    func receive() throws -> String { try socket.receiveText() }

    /// Receives a Close frame and returns its code and reason.
    func receiveClose() throws -> String {
        let frame = try socket.receive()
        guard frame.head == 0x88, frame.payload.count >= 2 else {
            throw ToolFailure(description: "no Close frame: \(String(decoding: frame.payload, as: UTF8.self))")
        }
        let code = Int(frame.payload[0]) << 8 | Int(frame.payload[1])
        return "\(code) \(String(decoding: frame.payload.dropFirst(2), as: UTF8.self))"
    }
}
