/// The opening handshake of a client over HTTP/1.1. RFC 6455 sections 4.1 and 4.2.2.
package struct WebSocketHandshake: Sendable {
    package typealias Hash = ([UInt8]) -> [UInt8]

    /// The result of a handshake.
    package struct Agreement: Sendable, Equatable {
        /// The subprotocol that the server selected. Nil if the server selected no subprotocol.
        package var subprotocol: String?
        /// The parameters of permessage-deflate. Nil if messages are not compressed.
        package var deflate: WebSocketDeflate.Agreement?
    }

    /// The number of random bytes for the key. Section 4.1.
    package static let randomByteCount = 16

    /// The fields of the upgrade request, in order, without Host.
    package let fields: [(name: String, value: String)]
    private let key: String
    private let protocols: [String]
    private let deflate: WebSocketDeflate.Offer?

    /// - Parameters:
    ///   - protocols: the subprotocols that the client offers, in order of preference. Distinct tokens.
    ///   - deflate: the offer of permessage-deflate. Nil for no offer.
    ///   - random: ``randomByteCount`` unpredictable bytes, which are not used for another handshake.
    /// - Throws: `invalid_argument` if a subprotocol is not a token or occurs twice, if a window size is out of range,
    ///   or if `random` has another length.
    package init(
        protocols: [String] = [], deflate: WebSocketDeflate.Offer? = nil, random: [UInt8]
    ) throws(NightjarError) {
        guard random.count == WebSocketHandshake.randomByteCount else {
            throw NightjarError(
                .invalidArgument,
                "a WebSocket key needs \(WebSocketHandshake.randomByteCount) random bytes, got \(random.count)")
        }
        var seen = ExactSet()
        for name in protocols {
            guard FieldSyntax.isToken(name.utf8) else {
                throw NightjarError(
                    .invalidArgument,
                    "WebSocket subprotocol \(quoted(name)) is invalid; use only letters, digits and !#$%&'*+-.^_`|~")
            }
            guard seen.insert(name) else {
                throw NightjarError(
                    .invalidArgument, "WebSocket subprotocol \(quoted(name)) occurs twice; remove one of them")
            }
        }
        key = Base64.encode(random)
        self.protocols = protocols
        self.deflate = deflate
        var fields = [
            (name: "Upgrade", value: "websocket"), (name: "Connection", value: "Upgrade"),
            (name: "Sec-WebSocket-Key", value: key), (name: "Sec-WebSocket-Version", value: "13"),
        ]
        if !protocols.isEmpty { fields.append(("Sec-WebSocket-Protocol", protocols.joined(separator: ", "))) }
        if let deflate { fields.append(("Sec-WebSocket-Extensions", try deflate.value())) }
        self.fields = fields
    }

    /// Returns the Sec-WebSocket-Accept value for a key.
    package static func accept(_ key: String, sha1: Hash) -> String {
        Base64.encode(sha1(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    /// Checks the response to the upgrade request. Section 4.1.
    ///
    /// - Parameter sha1: returns the SHA-1 digest, 20 bytes.
    /// - Throws: `protocol` for an invalid response. For a status other than 101, the kind of that status.
    package func check(_ head: ResponseHead, sha1: Hash) throws(NightjarError) -> Agreement {
        try checkStatus(head)
        let upgrade = head.headers.values("Upgrade")
        guard upgrade.count == 1, ASCII.equalIgnoringCase(upgrade[0].utf8, "websocket".utf8) else {
            throw invalid("the Upgrade field must be \"websocket\", got \(shown(upgrade))")
        }
        let connection = head.headers.values("Connection")
        guard connection.contains(where: hasUpgrade) else {
            throw invalid("the Connection field must contain \"Upgrade\", got \(shown(connection))")
        }
        let accept = head.headers.values("Sec-WebSocket-Accept")
        let expected = WebSocketHandshake.accept(key, sha1: sha1)
        guard accept.count == 1, accept[0].isExactly(expected) else {
            throw invalid("Sec-WebSocket-Accept must be \(quoted(expected)), got \(shown(accept))")
        }
        return Agreement(
            subprotocol: try subprotocol(head.headers.values("Sec-WebSocket-Protocol")),
            deflate: try extensions(head.headers.values("Sec-WebSocket-Extensions")))
    }

    private func checkStatus(_ head: ResponseHead) throws(NightjarError) {
        guard head.status == 101 else {
            let kind = head.status < 400 ? .protocol : ErrorKind(unexpectedStatus: head.status)
            throw invalid("the server responded \(head.status) instead of 101 (Switching Protocols)", kind)
        }
        guard head.minorVersion >= 1 else { throw invalid("the server responded with HTTP/1.0") }
    }

    private func hasUpgrade(_ value: String) -> Bool {
        value.utf8.split(separator: UInt8(ascii: ",")).contains {
            ASCII.equalIgnoringCase(ASCII.trimmed($0), "upgrade".utf8)
        }
    }

    private func subprotocol(_ values: [String]) throws(NightjarError) -> String? {
        guard let value = values.first else { return nil }
        guard values.count == 1 else {
            throw invalid("the server selected \(values.count) subprotocols; at most one is allowed")
        }
        guard protocols.contains(where: { $0.isExactly(value) }) else {
            let offered = protocols.isEmpty ? "none" : protocols.joined(separator: ", ")
            throw invalid("the server selected the subprotocol \(quoted(value)), but the client offered \(offered)")
        }
        return value
    }

    private func extensions(_ values: [String]) throws(NightjarError) -> WebSocketDeflate.Agreement? {
        guard let elements = WebSocketExtension.parse(values) else {
            throw invalid("Sec-WebSocket-Extensions is malformed: \(shown(values))")
        }
        var agreement: WebSocketDeflate.Agreement?
        for element in elements {
            guard let deflate, element.name == WebSocketDeflate.name else {
                throw invalid("the server selected the extension \(quoted(element.name)), which was not offered")
            }
            guard agreement == nil else {
                throw invalid("the server selected the extension \(element.name) twice")
            }
            do throws(WebSocketDeflate.Refusal) {
                agreement = try WebSocketDeflate.agree(on: deflate, element)
            } catch {
                throw invalid("the response to the offer of \(element.name) is invalid: \(error.reason)")
            }
        }
        return agreement
    }

    private func invalid(_ reason: String, _ kind: ErrorKind = .protocol) -> NightjarError {
        NightjarError(kind, "the WebSocket handshake failed: \(reason)", phase: .receive)
    }

    private func shown(_ values: [String]) -> String {
        values.isEmpty ? "none" : values.map { quoted($0) }.joined(separator: ", ")
    }
}
