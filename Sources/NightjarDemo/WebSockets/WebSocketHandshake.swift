import NIOHTTP1

/// A valid opening handshake of a client: a GET with Upgrade (RFC 6455 section 4.2.1), or an extended CONNECT over HTTP/2
/// (RFC 8441), which has no key.
struct WebSocketHandshake {
    let request: Request
    /// The value of Sec-WebSocket-Accept in the response. Nil over HTTP/2.
    let accept: String?
    /// The subprotocols that the client offers, in order of preference.
    let offeredProtocols: [String]
    let offeredExtensions: [WebSocketExtension]

    private static let version = "13"
    private static let keySize = 16

    /// - Throws: 426 if the request is not a WebSocket handshake or has another version; 400 if the handshake is invalid.
    init(_ request: Request) throws(Problem) {
        let head = request.head
        let fields = head.headers
        let isHTTP2 = request.origin.stream?.connectProtocol != nil
        guard WebSocketHandshake.isRequested(by: request) else {
            throw WebSocketHandshake.upgradeRequired("this resource is available only over WebSocket")
        }
        guard head.contentLength ?? 0 == 0, !fields.contains(name: "transfer-encoding") else {
            throw Problem(.badRequest, "a WebSocket handshake must not have a body")
        }
        guard fields["sec-websocket-version"] == [WebSocketHandshake.version] else {
            throw WebSocketHandshake.upgradeRequired("only version 13 of WebSocket is supported")
        }
        self.request = request
        accept = isHTTP2 ? nil : try WebSocketHandshake.accept(fields)
        offeredProtocols = fields[canonicalForm: "sec-websocket-protocol"].map(String.init)
        offeredExtensions = fields[canonicalForm: "sec-websocket-extensions"].map { WebSocketExtension($0) }
    }

    /// Whether a request asks for a WebSocket. RFC 6455 section 4.1, RFC 8441 section 5.
    static func isRequested(by request: Request) -> Bool {
        request.origin.stream?.connectProtocol != nil || requestsUpgrade(request.head)
    }

    private static func requestsUpgrade(_ head: HTTPRequestHead) -> Bool {
        head.method == .GET && head.supportsHTTP11 && head.headers.hasToken("upgrade", in: "connection")
            && head.headers.hasToken("websocket", in: "upgrade")
    }

    private static func accept(_ fields: HTTPHeaders) throws(Problem) -> String {
        let keys = fields["sec-websocket-key"]
        guard keys.count == 1, Base64.decode(keys[0])?.count == WebSocketHandshake.keySize, keys[0].utf8.count == 24
        else {
            throw Problem(.badRequest, "Sec-WebSocket-Key must be the base64 form of 16 bytes")
        }
        return accept(key: keys[0])
    }

    /// Returns the value of Sec-WebSocket-Accept for a key (RFC 6455 section 4.2.2).
    static func accept(key: String) -> String {
        Base64.encode(Hash.sha1(Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8)))
    }

    /// The fields of a response without extensions and subprotocol.
    var headers: HTTPHeaders {
        guard let accept else { return [:] }
        return ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Accept": accept]
    }

    private static func upgradeRequired(_ detail: String) -> Problem {
        Problem(
            .upgradeRequired, detail,
            headers: ["Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": version])
    }
}

/// The result of the negotiation. The query of the request selects what the server accepts:
///
/// - `protocols`: a comma-separated list of subprotocols. The first offered one that the list contains is selected. The
///   default is `v1,v2`.
/// - `deflate=0` declines permessage-deflate.
/// - `server_max_window_bits` and `client_max_window_bits`: the largest accepted windows, from 8 to 15.
/// - `server_no_context_takeover=1` and `client_no_context_takeover=1`.
/// - `fragment`: the number of bytes in each frame of a message that the server sends. 0, the default, sends each
///   message in one frame.
struct WebSocketAgreement {
    private(set) var subprotocol: String?
    /// Nil if messages are not compressed.
    private(set) var deflate: DeflateNegotiation?
    /// The maximum payload of the frames that the server sends, in bytes. 0: unlimited.
    let fragmentSize: Int

    static let defaultProtocols = "v1,v2"

    /// - Parameters:
    ///   - protocols: the default of the parameter `protocols`.
    ///   - declinesExtensions: true to decline all extensions.
    init(
        _ handshake: WebSocketHandshake, protocols: String = WebSocketAgreement.defaultProtocols,
        declinesExtensions: Bool = false
    ) throws(Problem) {
        let request = handshake.request
        let allowed = (request.query("protocols") ?? protocols).split(separator: ",")
        subprotocol = handshake.offeredProtocols.first { offered in allowed.contains { $0 == offered } }
        fragmentSize = try request.query("fragment", in: 0...WebSocketReader.messageLimit, or: 0)
        let preferences = DeflateNegotiation.Preferences(
            serverWindow: try WebSocketAgreement.window("server_max_window_bits", request),
            clientWindow: try WebSocketAgreement.window("client_max_window_bits", request),
            serverResets: try request.query("server_no_context_takeover", oneOf: ["0", "1"]) == "1",
            clientResets: try request.query("client_no_context_takeover", oneOf: ["0", "1"]) == "1")
        if try request.query("deflate", oneOf: ["1", "0"]) == "1", !declinesExtensions {
            deflate = DeflateNegotiation.accept(handshake.offeredExtensions, preferences)
        }
    }

    /// The fields of the response that select the subprotocol and the extension.
    var headers: HTTPHeaders {
        var headers = HTTPHeaders()
        if let subprotocol { headers.add(name: "Sec-WebSocket-Protocol", value: subprotocol) }
        if let deflate { headers.add(name: "Sec-WebSocket-Extensions", value: deflate.field) }
        return headers
    }

    private static func window(_ name: String, _ request: Request) throws(Problem) -> Int? {
        guard request.query(name) != nil else { return nil }
        return try request.query(name, in: DeflateNegotiation.windows, or: 15)
    }
}
