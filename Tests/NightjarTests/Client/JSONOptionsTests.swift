import NIOCore
import NightjarHTTP
import Testing

@testable import Nightjar

/// The client's options for JSON.
@Suite struct JSONOptionsTests {
    private struct Article: Codable, Equatable, Sendable {
        var articleTitle: String
    }

    private func reply(_ body: String) -> [ScriptedTransport.Step] {
        [.head(200, [("Content-Type", "application/json")]), .body(body), .end]
    }

    private func api(_ transport: ScriptedTransport) throws -> Client {
        try client(transport) {
            $0.decoding = JSONDecodingOptions(names: .convertFromSnakeCase)
            $0.encoding = JSONEncodingOptions(names: .convertToSnakeCase)
        }
    }

    @Test func responsesAreDecodedWithTheOptionsOfTheClient() async throws {
        let snake = reply(#"{"article_title":"x"}"#)
        let transport = ScriptedTransport([
            snake, snake, reply(#"[{"article_title":"y"}]"#), reply(#"{"articleTitle":"z"}"#),
        ])
        let api = try api(transport)
        defer { api.close() }
        #expect(try await api.send(Request(.get, "/a")).decode(Article.self).articleTitle == "x")
        let article: Article = try await api.send(.get("/a"))
        #expect(article.articleTitle == "x")
        var titles: [String] = []
        for try await item in api.items(Request(.get, "/list"), as: Article.self) { titles.append(item.articleTitle) }
        #expect(titles == ["y"])
        // An endpoint's own options replace those of the client.
        let own: Article = try await api.send(.get("/a", decoding: JSONDecodingOptions()))
        #expect(own.articleTitle == "z")
    }

    @Test func bodiesAreEncodedWithTheOptionsOfTheClient() async throws {
        let transport = ScriptedTransport([reply("{}"), reply("{}")])
        let api = try api(transport)
        defer { api.close() }
        let endpoint = Endpoint<Empty>.post("/a", body: Article(articleTitle: "x"))
        _ = try await api.send(endpoint)
        _ = try await api.send(.post("/a", body: Article(articleTitle: "x"), encoding: JSONEncodingOptions())) as Empty
        let heads = transport.log.withLock { $0.heads }
        #expect(heads[0].contains("Content-Length: 21\r\n") && heads[1].contains("Content-Length: 20\r\n"))
        // Without a client, the options are those of the type.
        guard case .bytes(let body) = try endpoint.makeRequest().body else { throw NightjarError(.invalidRequest, "") }
        #expect(String(buffer: body) == #"{"articleTitle":"x"}"#)
    }
}
