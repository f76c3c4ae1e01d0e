import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// The negotiation of permessage-deflate. The sections are those of RFC 7692.
@Suite struct WebSocketDeflateTests {
    typealias Agreement = WebSocketDeflate.Agreement
    /// The offer, and the response.
    struct Exchange: Sendable, CustomStringConvertible {
        var offer = WebSocketDeflate.Offer()
        var response: String

        var description: String { response }

        init(_ response: String, _ change: (inout WebSocketDeflate.Offer) -> Void = { _ in }) {
            self.response = response
            change(&offer)
        }
    }

    private static let accepted: [RFCRow<Exchange, Agreement>] = [
        RFCRow("7.1", "a response without parameters is accepted", Exchange(""), Agreement(clientWindowBits: 12)),
        RFCRow(
            "7.1.1.1", "the server may reset its context without a request", Exchange("; server_no_context_takeover"),
            Agreement(clientWindowBits: 12, serverResetsContext: true)),
        RFCRow(
            "7.1.1.2", "the server may request that the client resets its context",
            Exchange("; client_no_context_takeover"), Agreement(clientWindowBits: 12, clientResetsContext: true)),
        RFCRow(
            "7.1.1.2", "the client may reset its context without a response",
            Exchange("") { $0.clientResetsContext = true }, Agreement(clientWindowBits: 12, clientResetsContext: true)),
        RFCRow(
            "7.1.2.1", "the server may limit its window without a request", Exchange("; server_max_window_bits=8"),
            Agreement(serverWindowBits: 8, clientWindowBits: 12)),
        RFCRow(
            "7.1.2.1", "the server may use a smaller window than requested",
            Exchange("; server_max_window_bits=9") { $0.serverWindowBits = 10 },
            Agreement(serverWindowBits: 9, clientWindowBits: 12)),
        RFCRow(
            "7.1.2.2", "the server may limit the client's window", Exchange("; client_max_window_bits=9"),
            Agreement(clientWindowBits: 9)),
        RFCRow(
            "7.1.2.2", "the client may use a smaller window", Exchange("; client_max_window_bits=15"),
            Agreement(clientWindowBits: 12)),
        RFCRow(
            "RFC 6455 9.1", "a value may be quoted", Exchange(" ; client_max_window_bits = \"1\\0\""),
            Agreement(clientWindowBits: 10)),
    ]

    private static let rejected: [RFCRow<Exchange, String>] =
        [
            RFCRow(
                "7.1", "unknown parameters are invalid", Exchange("; server_no_context"),
                "the parameter \"server_no_context\" is unknown"),
            RFCRow(
                "7.1", "repeated parameters are invalid",
                Exchange("; server_max_window_bits=9; server_max_window_bits=9"),
                "the parameter server_max_window_bits occurs twice"),
            RFCRow(
                "7.1.1.1", "the parameter has no value", Exchange("; server_no_context_takeover=1"),
                "the parameter server_no_context_takeover has a value"),
            RFCRow(
                "7.1.1.1", "a requested reset must be accepted", Exchange("") { $0.serverResetsContext = true },
                "server_no_context_takeover was offered and is missing"),
            RFCRow(
                "7.1.2.1", "a requested window must be accepted", Exchange("") { $0.serverWindowBits = 10 },
                "server_max_window_bits was offered and is missing"),
            RFCRow(
                "7.1.2.1", "the window must not be larger than requested",
                Exchange("; server_max_window_bits=11") { $0.serverWindowBits = 10 },
                "server_max_window_bits is 11, but the client offered 10"),
        ]
        + RFCRow.rows(
            "7.1.2", "the value is a number from 8 to 15 without leading zeros",
            ["7", "16", "08", "+9", "", "x"].map { value in
                (
                    Exchange(value.isEmpty ? "; client_max_window_bits" : "; client_max_window_bits=\(value)"),
                    "the value of client_max_window_bits must be between 8 and 15, got \"\(value)\""
                )
            })

    private func agree(_ exchange: Exchange) throws -> Agreement {
        let elements = try #require(WebSocketExtension.parse(["permessage-deflate" + exchange.response]))
        try #require(elements.count == 1)
        return try WebSocketDeflate.agree(on: exchange.offer, elements[0])
    }

    @Test(arguments: accepted) func responseIsAccepted(row: RFCRow<Exchange, Agreement>) throws {
        #expect(try agree(row.input) == row.expected)
    }

    @Test(arguments: rejected) func responseIsRejected(row: RFCRow<Exchange, String>) {
        let refusal = #expect(throws: WebSocketDeflate.Refusal.self) { try agree(row.input) }
        #expect(refusal?.reason == row.expected)
    }

    @Test func offerHasTheRequestedParameters() throws {
        var offer = WebSocketDeflate.Offer()
        offer.serverWindowBits = 10
        offer.serverResetsContext = true
        offer.clientResetsContext = true
        #expect(
            try offer.value()
                == "permessage-deflate; server_no_context_takeover; client_no_context_takeover; "
                + "server_max_window_bits=10; client_max_window_bits")
    }

    @Test(arguments: [7, 16, -1]) func windowOutOfRangeIsRejected(bits: Int) {
        var offer = WebSocketDeflate.Offer()
        offer.clientWindowBits = bits
        let error = #expect(throws: NightjarError.self) { try offer.value() }
        #expect(error?.message == "client_max_window_bits must be between 8 and 15, got \(bits)")
    }

    // MARK: Syntax of extensions

    @Test func listsAreParsed() throws {
        let elements = try #require(WebSocketExtension.parse(["a; x=1; y , , b", "c;z=\"q\""]))
        #expect(
            elements == [
                WebSocketExtension(name: "a", parameters: [.init(name: "x", value: "1"), .init(name: "y")]),
                WebSocketExtension(name: "b"),
                WebSocketExtension(name: "c", parameters: [.init(name: "z", value: "q")]),
            ])
        #expect(WebSocketExtension.parse([]) == [])
    }

    @Test(arguments: [
        "a b", "a;", "a; ;", "a; x=", "a; x=\"", "a; x=\"a b\"", "a; x=\"\"", "a; x=\"\\", ";", "=", "a=1", "é",
    ])
    func malformedListIsRejected(value: String) {
        #expect(WebSocketExtension.parse([value]) == nil)
    }
}
