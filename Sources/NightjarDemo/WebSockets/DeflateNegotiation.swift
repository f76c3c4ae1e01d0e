/// The parameters of permessage-deflate on one connection (RFC 7692 section 7.1).
struct DeflateNegotiation: Equatable {
    /// The values that the server chooses if the client's offer allows them.
    struct Preferences: Equatable {
        var serverWindow: Int?
        var clientWindow: Int?
        var serverResets = false
        var clientResets = false
    }

    /// The base-2 logarithm of the window with which the server compresses.
    private(set) var serverWindow = DeflateNegotiation.maximumWindow
    /// The base-2 logarithm of the window with which the client compresses.
    private(set) var clientWindow = DeflateNegotiation.maximumWindow
    /// True if the server compresses each message without a reference to previous messages.
    private(set) var serverResets = false
    private(set) var clientResets = false
    /// The parameters of the response, in order.
    private var parameters: [String] = []

    static let name = "permessage-deflate"
    static let windows = 8...15
    private static let maximumWindow = 15

    /// The value of Sec-WebSocket-Extensions in the response.
    var field: String { ([DeflateNegotiation.name] + parameters).joined(separator: "; ") }

    /// Accepts the first valid offer. Returns nil if there is none.
    static func accept(_ offers: [WebSocketExtension], _ preferences: Preferences) -> DeflateNegotiation? {
        for offer in offers where offer.name == name {
            if let accepted = DeflateNegotiation(offer, preferences) { return accepted }
        }
        return nil
    }

    /// Nil if the offer has an unknown, repeated or invalid parameter (section 7.1).
    private init?(_ offer: WebSocketExtension, _ preferences: Preferences) {
        (serverResets, clientResets) = (preferences.serverResets, preferences.clientResets)
        var serverLimit = preferences.serverWindow
        var clientLimit: Int?
        var names: Set<String> = []
        for (name, value) in offer.parameters {
            guard names.insert(name).inserted else { return nil }
            switch (name, value) {
            case ("server_no_context_takeover", nil): serverResets = true
            case ("client_no_context_takeover", nil): clientResets = true
            case ("server_max_window_bits", let value?):
                guard let bits = DeflateNegotiation.window(value) else { return nil }
                serverLimit = min(bits, serverLimit ?? bits)
            case ("client_max_window_bits", nil):
                clientLimit = preferences.clientWindow
            case ("client_max_window_bits", let value?):
                guard let bits = DeflateNegotiation.window(value) else { return nil }
                clientLimit = min(bits, preferences.clientWindow ?? bits)
            default: return nil
            }
        }
        serverWindow = serverLimit ?? DeflateNegotiation.maximumWindow
        clientWindow = clientLimit ?? DeflateNegotiation.maximumWindow
        if serverResets { parameters.append("server_no_context_takeover") }
        if clientResets { parameters.append("client_no_context_takeover") }
        if let serverLimit { parameters.append("server_max_window_bits=\(serverLimit)") }
        if let clientLimit { parameters.append("client_max_window_bits=\(clientLimit)") }
    }

    /// Parses a window size: a decimal number from 8 to 15 without leading zeros.
    private static func window(_ text: String) -> Int? {
        guard let bits = Int(text), windows.contains(bits), String(bits) == text else { return nil }
        return bits
    }
}

/// An extension that a client offers (RFC 6455 section 9.1).
struct WebSocketExtension {
    let name: String
    /// The parameters in order. The value of a parameter without `=` is nil.
    let parameters: [(name: String, value: String?)]

    /// - Parameter text: an element of Sec-WebSocket-Extensions: `permessage-deflate; server_max_window_bits=10`.
    init(_ text: Substring) {
        let parts = text.split(separator: ";", omittingEmptySubsequences: false).map(WebSocketExtension.trimmed)
        name = parts.first.map { $0.lowercased() } ?? ""
        parameters = parts.dropFirst().map { part in
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map(WebSocketExtension.trimmed)
            let name = halves.first.map(String.init) ?? ""
            return (name, halves.count == 2 ? WebSocketExtension.unquoted(halves[1]) : nil)
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        var text = text.drop(while: isBlank)
        while text.last.map(isBlank) == true { text.removeLast() }
        return text
    }

    /// A quoted value must be a token after unquoting, so that it contains no escapes.
    private static func unquoted(_ text: Substring) -> String {
        guard text.utf8.count >= 2, text.first == "\"", text.last == "\"" else { return String(text) }
        return String(text.dropFirst().dropLast())
    }
}
