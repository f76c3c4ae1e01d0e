import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct WebSocketHandshakeTests {
    /// The key of the example in RFC 6455 section 1.3.
    private static let key = WebSocketKey(random: Array("the sample nonce".utf8))
    private static let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

    private func handshake(
        _ protocols: [String] = [], deflate: WebSocketDeflate.Offer? = nil
    ) throws(NightjarError) -> WebSocketHandshake {
        try WebSocketHandshake(protocols: protocols, deflate: deflate)
    }

    private func head(
        _ fields: [(String, String)], status: Int = 101, version: HTTPVersion = .http1_1
    ) throws(NightjarError) -> ResponseHead {
        var head = ResponseHead(status: status, reason: "", version: version)
        for (name, value) in fields { try head.headers.add(name, value) }
        return head
    }

    private static let valid = [
        ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accept),
    ]

    /// Checks a response as the connection and the WebSocket do.
    private func check(
        _ handshake: WebSocketHandshake, _ head: ResponseHead
    ) throws(NightjarError) -> WebSocketHandshake.Agreement {
        if head.status == 101 { try Self.key.check(head, sha1: TestSHA1.digest) }
        return try handshake.check(status: head.status, head.headers)
    }

    private func failure(_ handshake: WebSocketHandshake, _ head: ResponseHead) -> NightjarError? {
        do throws(NightjarError) {
            _ = try check(handshake, head)
            return nil
        } catch {
            return error
        }
    }

    // MARK: Requests

    @Test func requestHasTheFieldsOfTheSpecification() throws {
        var upgrade = Request(.get, "http://h/chat")
        upgrade.body = .upgrade
        let request = try PreparedRequest(upgrade, base: nil, defaults: Headers(), userAgent: nil)
        let fields = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        #expect(
            String(buffer: request.wireHead)
                == "GET /chat HTTP/1.1\r\nHost: h\r\n" + fields.joined(separator: "\r\n") + "\r\n\r\n")
        #expect(Self.key.value == "dGhlIHNhbXBsZSBub25jZQ==")
    }

    @Test func offersAreListed() throws {
        let fields = try handshake(["v2.chat", "v1"], deflate: WebSocketDeflate.Offer()).fields
        #expect(
            fields.map { "\($0.name): \($0.value)" } == [
                "Sec-WebSocket-Protocol: v2.chat, v1",
                "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
            ])
    }

    @Test(arguments: ["", "a b", "a,b", "é", "a\r\nb"])
    func subprotocolThatIsNotATokenIsRejected(name: String) {
        let error = #expect(throws: NightjarError.self) { try handshake(["v1", name]) }
        #expect(error?.kind == .invalidArgument)
    }

    @Test func repeatedSubprotocolIsRejected() {
        let error = #expect(throws: NightjarError.self) { try handshake(["v1", "v1"]) }
        #expect(error?.message == "WebSocket subprotocol \"v1\" occurs twice; remove one of them")
    }

    @Test func messagesDoNotContainATokenAmongTheSubprotocols() throws {
        for list in [["bearer", "c2VjcmV0", "c2VjcmV0"], ["bearer", "c2Vjc/mV0"]] {
            let error = #expect(throws: NightjarError.self) { try handshake(list) }
            #expect(error?.message.hasPrefix("WebSocket subprotocol *** ") == true)
            #expect(error?.message.contains("c2Vjc") == false)
        }
        let error = #expect(throws: NightjarError.self) {
            try check(
                handshake(["bearer", "c2VjcmV0"]), head(Self.valid + [("Sec-WebSocket-Protocol", "C2VJCMV0")]))
        }
        #expect(error?.message.contains("the client offered ***") == true)
        #expect(error?.message.lowercased().contains("c2vjcmv0") == false)
    }

    @Test func messagesDoNotContainSubprotocolsThatTheClientMarksAsSensitive() throws {
        let error = #expect(throws: NightjarError.self) {
            try WebSocketHandshake(protocols: ["v1", "v1"], sensitive: ["sec-websocket-protocol"])
        }
        #expect(error?.message == "WebSocket subprotocol *** occurs twice; remove one of them")
        let key = "openai-insecure-api-key.sk-proj-AbC123"
        let repeated = #expect(throws: NightjarError.self) { try handshake(["realtime", key, key]) }
        #expect(repeated?.message.contains("AbC123") == false)
    }

    // MARK: Responses

    @Test func validResponseIsAccepted() throws {
        let agreement = try check(handshake(), head(Self.valid))
        #expect(agreement == WebSocketHandshake.Agreement())
    }

    @Test func tokensAreComparedIgnoringCase() throws {
        let fields = [
            ("upgrade", "WebSocket"), ("connection", "keep-alive, \t upgrade"), ("sec-websocket-accept", Self.accept),
        ]
        #expect(failure(try handshake(), try head(fields)) == nil)
    }

    private static let invalid: [(String, [(String, String)], Int, HTTPVersion, String)] = [
        ("status", valid, 200, .http1_1, "the server responded 200 instead of 101 (Switching Protocols)"),
        ("version", valid, 101, .http1_0, "the server responded with HTTP/1.0"),
        ("no Upgrade", Array(valid[1...]), 101, .http1_1, "the Upgrade field must be \"websocket\", got none"),
        (
            "other Upgrade", [("Upgrade", "h2c")] + valid[1...], 101, .http1_1,
            "the Upgrade field must be \"websocket\", got \"h2c\""
        ),
        (
            "two Upgrades", [("Upgrade", "h2c")] + valid, 101, .http1_1,
            "the Upgrade field must be \"websocket\", got \"h2c\", \"websocket\""
        ),
        (
            "no Connection", [valid[0], valid[2]], 101, .http1_1,
            "the Connection field must contain \"Upgrade\", got none"
        ),
        (
            "other Connection", [valid[0], ("Connection", "close, upgrades"), valid[2]], 101, .http1_1,
            "the Connection field must contain \"Upgrade\", got \"close, upgrades\""
        ),
        ("no accept", Array(valid[..<2]), 101, .http1_1, "Sec-WebSocket-Accept must be \"\(accept)\", got none"),
        (
            "other accept", valid[..<2] + [("Sec-WebSocket-Accept", "S3pPLMBiTxaQ9kYGzzhZRbK+xOo=")], 101, .http1_1,
            "Sec-WebSocket-Accept must be \"\(accept)\", got \"S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\""
        ),
        (
            "two accepts", valid + [valid[2]], 101, .http1_1,
            "Sec-WebSocket-Accept must be \"\(accept)\", got \"\(accept)\", \"\(accept)\""
        ),
        (
            "protocol not offered", valid + [("Sec-WebSocket-Protocol", "v3")], 101, .http1_1,
            "the server selected the subprotocol \"v3\", but the client offered v1, v2"
        ),
        (
            "list of protocols", valid + [("Sec-WebSocket-Protocol", "v1, v2")], 101, .http1_1,
            "the server selected the subprotocol \"v1, v2\", but the client offered v1, v2"
        ),
        (
            "protocol in another case", valid + [("Sec-WebSocket-Protocol", "V1")], 101, .http1_1,
            "the server selected the subprotocol \"V1\", but the client offered v1, v2"
        ),
        (
            "two protocols", valid + [("Sec-WebSocket-Protocol", "v1"), ("Sec-WebSocket-Protocol", "v2")], 101,
            .http1_1,
            "the server selected 2 subprotocols; at most one is allowed"
        ),
        (
            "extension not offered", valid + [("Sec-WebSocket-Extensions", "x-webkit-deflate-frame")], 101, .http1_1,
            "the server selected the extension \"x-webkit-deflate-frame\", which was not offered"
        ),
        (
            "extension twice", valid + [("Sec-WebSocket-Extensions", "permessage-deflate, permessage-deflate")], 101,
            .http1_1,
            "the server selected the extension permessage-deflate twice"
        ),
        (
            "malformed extensions", valid + [("Sec-WebSocket-Extensions", "permessage-deflate; =1")], 101, .http1_1,
            "Sec-WebSocket-Extensions is malformed: \"permessage-deflate; =1\""
        ),
        (
            "illegal parameter", valid + [("Sec-WebSocket-Extensions", "permessage-deflate; x=1")], 101, .http1_1,
            "the response to the offer of permessage-deflate is invalid: the parameter \"x\" is unknown"
        ),
    ]

    @Test(arguments: invalid)
    func eachViolationHasItsMessage(
        name: String, fields: [(String, String)], status: Int, version: HTTPVersion, reason: String
    ) throws {
        let handshake = try handshake(["v1", "v2"], deflate: WebSocketDeflate.Offer())
        let error = failure(handshake, try head(fields, status: status, version: version))
        #expect(error?.message == "the WebSocket handshake failed: \(reason)")
        #expect(error?.kind == .protocol)
    }

    @Test func extensionWithoutOfferIsRejected() throws {
        let fields = Self.valid + [("Sec-WebSocket-Extensions", "permessage-deflate")]
        #expect(failure(try handshake(), try head(fields))?.message.contains("was not offered") == true)
    }

    @Test(arguments: [
        (401, ErrorKind.unauthorized), (403, .forbidden), (404, .notFound), (426, .client), (503, .server),
    ])
    func statusSelectsTheKind(status: Int, kind: ErrorKind) throws {
        #expect(failure(try handshake(), try head(Self.valid, status: status))?.kind == kind)
    }

    @Test func agreementHasTheSelectedValues() throws {
        let fields =
            Self.valid + [
                ("Sec-WebSocket-Protocol", "v2"),
                (
                    "Sec-WebSocket-Extensions",
                    "permessage-deflate; server_no_context_takeover;client_max_window_bits=\"10\""
                ),
            ]
        let handshake = try handshake(["v1", "v2"], deflate: WebSocketDeflate.Offer())
        let agreement = try check(handshake, head(fields))
        #expect(agreement.subprotocol == "v2")
        #expect(agreement.deflate == WebSocketDeflate.Agreement(clientWindowBits: 10, serverResetsContext: true))
    }
}
