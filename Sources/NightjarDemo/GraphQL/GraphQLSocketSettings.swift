import NIOCore

/// The parameters of `GET /graphql` with an upgrade to WebSocket.
///
/// - `drop_after`: the TCP connection is closed without a Close frame after this number of `next` messages.
/// - `close_after`: the connection is closed with the code `code` after this number of `next` messages. The default of
///   `code` is 1000.
/// - `token=required`: the payload of `connection_init` must have the member `Authorization` with `Bearer` and an access
///   token, or the handshake must have this field. Otherwise, the server closes with 4403. It closes with 4401 when the
///   token expires or its login ends.
/// - `init_code`: the server closes with this code after `connection_init`.
/// - `ping=1`: the server sends `ping` after `connection_init`, and `connection_ack` after the `pong`.
/// - `echo_payload=1`: the payload of `connection_ack` is that of `connection_init`.
/// - `init_timeout`: the seconds until the acknowledgement, after which the server closes with 4408. The default is 3.
struct GraphQLSocketSettings {
    let dropLimit: Int?
    let closeLimit: Int?
    let closeCode: Int
    let needsToken: Bool
    let initialCode: Int?
    let sendsPing: Bool
    let echoesPayload: Bool
    let timeout: TimeAmount
    /// The access token of the handshake. Nil: none.
    let token: String?

    init(_ request: Request) throws(Problem) {
        let counts = 1...1_000_000_000
        dropLimit = try request.query("drop_after", in: counts)
        closeLimit = try request.query("close_after", in: counts)
        closeCode = try request.query("code", in: 1...65_535, or: 1000)
        needsToken = try request.query("token", oneOf: ["optional", "required"]) == "required"
        initialCode = try request.query("init_code", in: 3000...4999)
        sendsPing = try request.query("ping", oneOf: ["0", "1"]) == "1"
        echoesPayload = try request.query("echo_payload", oneOf: ["0", "1"]) == "1"
        timeout = try request.queryDuration("init_timeout", atMost: 60, or: 3)
        token = Credentials(request.head.headers)?.bearer
    }
}
