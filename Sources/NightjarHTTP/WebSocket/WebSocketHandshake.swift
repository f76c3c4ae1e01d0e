/// The subprotocols and extensions of an opening handshake: the client's offer, and the check of the server's response.
/// RFC 6455 sections 4.1 and 4.2.2.
package struct WebSocketHandshake: Sendable {
    /// The result of a handshake.
    package struct Agreement: Sendable, Equatable {
        /// The subprotocol that the server selected. Nil if the server selected no subprotocol.
        package var subprotocol: String?
        /// The parameters of permessage-deflate. Nil if messages are not compressed.
        package var deflate: WebSocketDeflate.Agreement?
    }

    private static let protocolField = "Sec-WebSocket-Protocol"

    /// The fields of the offer, in order.
    package let fields: [(name: String, value: String)]
    private let protocols: [String]
    /// The subprotocols in messages.
    private let offer: String
    private let deflate: WebSocketDeflate.Offer?

    /// - Parameters:
    ///   - protocols: the subprotocols that the client offers, in order of preference. Distinct tokens.
    ///   - sensitive: names of fields whose values are masked in messages.
    ///   - deflate: the offer of permessage-deflate. Nil for no offer.
    /// - Throws: `invalid_argument` if a subprotocol is not a token or occurs twice, or if a window size is out of range.
    package init(
        protocols: [String] = [], sensitive: [String] = [], deflate: WebSocketDeflate.Offer? = nil
    ) throws(NightjarError) {
        var seen = ExactSet()
        let list = protocols.joined(separator: ", ")
        // Some servers accept a token as a subprotocol.
        let isSecret = Masking.value(list, ofField: WebSocketHandshake.protocolField, sensitive: sensitive) != list
        offer = isSecret ? Masking.mask : list
        for name in protocols {
            let shown = isSecret ? Masking.mask : quoted(name)
            guard FieldSyntax.isToken(name.utf8) else {
                throw NightjarError(
                    .invalidArgument,
                    "WebSocket subprotocol \(shown) is invalid; use only letters, digits and !#$%&'*+-.^_`|~")
            }
            guard seen.insert(name) else {
                throw NightjarError(
                    .invalidArgument, "WebSocket subprotocol \(shown) occurs twice; remove one of them")
            }
        }
        self.protocols = protocols
        self.deflate = deflate
        var fields: [(name: String, value: String)] = []
        if !protocols.isEmpty { fields.append((WebSocketHandshake.protocolField, list)) }
        if let deflate { fields.append(("Sec-WebSocket-Extensions", try deflate.value())) }
        self.fields = fields
    }

    /// Checks the response to the upgrade request. ``WebSocketKey`` checks that the server has accepted the upgrade.
    ///
    /// - Throws: `protocol` for an invalid response. For a status other than 101, the kind of that status.
    package func check(status: Int, _ headers: Headers) throws(NightjarError) -> Agreement {
        guard status == 101 else {
            let kind = status < 400 ? .protocol : ErrorKind(unexpectedStatus: status)
            throw .failedHandshake("the server responded \(status) instead of 101 (Switching Protocols)", kind)
        }
        return Agreement(
            subprotocol: try subprotocol(headers.values(WebSocketHandshake.protocolField)),
            deflate: try extensions(headers.values("Sec-WebSocket-Extensions")))
    }

    private func subprotocol(_ values: [String]) throws(NightjarError) -> String? {
        guard let value = values.first else { return nil }
        guard values.count == 1 else {
            throw invalid("the server selected \(values.count) subprotocols; at most one is allowed")
        }
        guard protocols.contains(where: { $0.isExactly(value) }) else {
            let selected = offer == Masking.mask ? offer : quoted(value)
            let offered = protocols.isEmpty ? "none" : offer
            throw invalid("the server selected the subprotocol \(selected), but the client offered \(offered)")
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

    private func invalid(_ reason: String) -> NightjarError { .failedHandshake(reason) }

    private func shown(_ values: [String]) -> String { values.map { quoted($0) }.joined(separator: ", ") }
}
