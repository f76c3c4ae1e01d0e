/// The negotiation of permessage-deflate. RFC 7692 section 7.1.
package enum WebSocketDeflate {
    static let name = "permessage-deflate"

    /// The permitted sizes of a window, as the exponent of two.
    package static let windowBits = 8...15

    private static let serverNoContextTakeover = "server_no_context_takeover"
    private static let clientNoContextTakeover = "client_no_context_takeover"
    private static let serverMaxWindowBits = "server_max_window_bits"
    private static let clientMaxWindowBits = "client_max_window_bits"

    /// The parameters that the client offers. The memory of a connection depends on them: decompression takes a window
    /// of 2^`serverWindowBits` bytes, compression eight times 2^`clientWindowBits` bytes.
    package struct Offer: Sendable, Equatable {
        /// The maximum size of the server's window. With 15, the parameter is not sent, because some servers decline
        /// offers that contain it.
        package var serverWindowBits = 15
        /// The maximum size of the client's window. Smaller windows than the server permits are always allowed.
        package var clientWindowBits = 12
        /// True to request that the server compresses each message separately.
        package var serverResetsContext = false
        /// True to compress each message separately.
        package var clientResetsContext = false

        package init() {}

        /// The element of Sec-WebSocket-Extensions.
        ///
        /// - Throws: `invalid_argument` if a window size is out of range.
        func value() throws(NightjarError) -> String {
            try check(serverMaxWindowBits, serverWindowBits)
            try check(clientMaxWindowBits, clientWindowBits)
            var value = name
            if serverResetsContext { value += "; \(serverNoContextTakeover)" }
            if clientResetsContext { value += "; \(clientNoContextTakeover)" }
            if serverWindowBits < 15 { value += "; \(serverMaxWindowBits)=\(serverWindowBits)" }
            // Without a value, the parameter permits the server to limit the client's window.
            return value + "; \(clientMaxWindowBits)"
        }

        private func check(_ name: String, _ bits: Int) throws(NightjarError) {
            guard windowBits.contains(bits) else {
                throw NightjarError(.invalidArgument, "\(name) must be between 8 and 15, got \(bits)")
            }
        }
    }

    /// The parameters that apply to a connection.
    package struct Agreement: Sendable, Equatable {
        package var serverWindowBits: Int
        package var clientWindowBits: Int
        package var serverResetsContext: Bool
        package var clientResetsContext: Bool

        package init(
            serverWindowBits: Int = 15, clientWindowBits: Int = 15, serverResetsContext: Bool = false,
            clientResetsContext: Bool = false
        ) {
            self.serverWindowBits = serverWindowBits
            self.clientWindowBits = clientWindowBits
            self.serverResetsContext = serverResetsContext
            self.clientResetsContext = clientResetsContext
        }
    }

    /// The reason why a response to an offer is invalid, for an error message.
    struct Refusal: Error, Equatable {
        let reason: String
    }

    /// Checks the server's response to an offer. Section 7.1.
    static func agree(on offer: Offer, _ response: WebSocketExtension) throws(Refusal) -> Agreement {
        var values: [String: String?] = [:]
        for parameter in response.parameters {
            guard values.updateValue(parameter.value, forKey: parameter.name) == nil else {
                throw Refusal(reason: "the parameter \(parameter.name) occurs twice")
            }
        }
        func flag(_ name: String) throws(Refusal) -> Bool {
            guard let value = values.removeValue(forKey: name) else { return false }
            guard value == nil else { throw Refusal(reason: "the parameter \(name) has a value") }
            return true
        }
        func bits(_ name: String, maximum: Int) throws(Refusal) -> Int? {
            guard let value = values.removeValue(forKey: name) else { return nil }
            // No leading zeros, no sign. Section 7.1.2.
            guard let value, let bits = windowBits.first(where: { String($0) == value }) else {
                throw Refusal(
                    reason: "the value of \(name) must be between 8 and 15, got \(quoted(value ?? ""))")
            }
            guard bits <= maximum else {
                throw Refusal(reason: "\(name) is \(bits), but the client offered \(maximum)")
            }
            return bits
        }
        let serverResets = try flag(serverNoContextTakeover)
        let clientResets = try flag(clientNoContextTakeover)
        let serverBits = try bits(serverMaxWindowBits, maximum: offer.serverWindowBits)
        let clientBits = try bits(clientMaxWindowBits, maximum: 15)
        if let unknown = values.keys.sorted().first {
            throw Refusal(reason: "the parameter \(quoted(unknown)) is unknown")
        }
        guard serverResets || !offer.serverResetsContext else {
            throw Refusal(reason: "\(serverNoContextTakeover) was offered and is missing")
        }
        guard serverBits != nil || offer.serverWindowBits == 15 else {
            throw Refusal(reason: "\(serverMaxWindowBits) was offered and is missing")
        }
        return Agreement(
            serverWindowBits: serverBits ?? 15, clientWindowBits: min(clientBits ?? 15, offer.clientWindowBits),
            serverResetsContext: serverResets, clientResetsContext: clientResets || offer.clientResetsContext)
    }
}
