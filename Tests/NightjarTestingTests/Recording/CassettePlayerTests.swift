import NIOCore
import Testing

@testable import NightjarHTTP
@testable import NightjarTesting

@Suite struct CassettePlayerTests {
    private func recorded(
        _ method: Method, _ url: String, body: String = "", _ fields: [(String, String)] = [], status: Int = 200
    ) throws -> RecordedExchange {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return RecordedExchange(
            .init(method: method, url: url, headers: headers, body: RecordedBody(ByteBuffer(string: body))),
            RecordedExchange.Response(status: status))
    }

    private func request(
        _ method: Method, _ url: String, body: String = "", _ fields: [(String, String)] = []
    ) throws -> ArrivedRequest {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        return ArrivedRequest(
            method: method, url: try RequestURL(url), headers: headers, body: ByteBuffer(string: body))
    }

    private func player(
        _ exchanges: [RecordedExchange], repeats: Bool = false,
        _ configure: (inout CassetteComparison) -> Void = { _ in }
    ) -> CassettePlayer {
        var comparison = CassetteComparison()
        configure(&comparison)
        return CassettePlayer(Cassette(exchanges), comparison, CassetteSecrets(), repeats: repeats, file: "c.json")
    }

    private func describe(_ verdict: CassettePlayer.Verdict) -> String {
        switch verdict {
        case .play(let exchange): "\(exchange.response?.status ?? 0)"
        case .missing(let error): error.message
        }
    }

    @Test func exchangesAreReplayedOnceInOrder() throws {
        let exchanges = [
            try recorded(.get, "http://x/a", status: 201), try recorded(.get, "http://x/b", status: 202),
            try recorded(.get, "http://x/a", status: 203),
        ]
        let a = try request(.get, "http://x/a")
        var once = player(exchanges)
        #expect(describe(once.play(a)) == "201")
        #expect(describe(once.play(a)) == "203")
        #expect(
            describe(once.play(a))
                == "the cassette \"c.json\" has already played its 2 exchanges for GET http://x/a; record again, or set "
                + "repeats = true to repeat the last one")
        #expect(once.useCounts == [1, 0, 1])
        var again = player(exchanges, repeats: true)
        #expect(
            try (0..<4).map { _ in describe(again.play(try request(.get, "http://x/a"))) } == [
                "201", "203", "203", "203",
            ])
    }

    @Test func orderOfQueryItemsAndMembersIsIgnored() throws {
        var player = player([
            try recorded(.post, "http://x/a?b=1&a=2", body: "{\"n\":1,\"s\":{\"a\":1,\"b\":[1.0]}}"),
            try recorded(.post, "http://x/f", body: "a=1&b=2", [("Content-Type", "application/x-www-form-urlencoded")]),
        ])
        #expect(
            describe(
                player.play(
                    try request(.post, "http://x/a?a=2&b=1", body: "{ \"s\": {\"b\": [1], \"a\": 1}, \"n\": 1.0 }")))
                == "200")
        let form = [("Content-Type", "application/x-www-form-urlencoded")]
        #expect(describe(player.play(try request(.post, "http://x/f", body: "b=2&a=1", form))) == "200")
    }

    @Test func secretsAreIgnored() throws {
        var player = player([
            try recorded(.get, "http://x/a?api_key=scrubbed-1&q=1", [("Authorization", "Bearer scrubbed-2")]),
            try recorded(.post, "http://x/login", body: "{\"user\":\"ada\",\"password\":\"scrubbed-3\"}"),
            try recorded(.post, "http://x/device", body: "{\"code\":\"scrubbed-4\"}"),
        ])
        #expect(
            describe(
                player.play(try request(.get, "http://x/a?api_key=live&q=1", [("Authorization", "Bearer live-1")])))
                == "200")
        #expect(
            describe(
                player.play(
                    try request(.post, "http://x/login", body: "{\"user\":\"ada\",\"password\":\"correct horse\"}")))
                == "200")
        // The recorded code is scrubbed, because the recorder had detected the login from the response.
        #expect(describe(player.play(try request(.post, "http://x/device", body: "{\"code\":\"c-123456\"}"))) == "200")
    }

    @Test func ignoredPartsAreNotCompared() throws {
        let exchange = try recorded(
            .post, "http://x:8080/a?now=1&q=2", body: "{\"at\":1,\"items\":[{\"id\":1,\"n\":1}]}",
            [("Accept", "text/csv")])
        let other = try request(
            .post, "http://y/a?q=2&now=7", body: "{\"items\":[{\"n\":1,\"id\":9}],\"at\":2}", [("Accept", "text/csv")])
        var strict = player([exchange])
        #expect(describe(strict.play(other)) != "200")
        let pointers = [try JSONPointer("/at"), try JSONPointer("/items/*/id")]
        var lenient = player([exchange]) {
            ($0.ignoresOrigin, $0.ignoredQuery, $0.ignoredJSON, $0.headers) = (true, ["now"], pointers, ["accept"])
        }
        #expect(describe(lenient.play(other)) == "200")
        var bodyless = player([exchange]) {
            ($0.ignoresOrigin, $0.ignoredQuery, $0.ignoresBody) = (true, ["now"], true)
        }
        #expect(describe(bodyless.play(try request(.post, "http://z/a?q=2"))) == "200")
    }

    @Test func multipartBoundaryIsIgnored() throws {
        func parts(_ boundary: String) -> (String, [(String, String)]) {
            (
                "--\(boundary)\r\n\r\nhello\r\n--\(boundary)--\r\n",
                [("Content-Type", "multipart/form-data; boundary=\(boundary)")]
            )
        }
        let (one, other) = (parts("abc123"), parts("xyz789"))
        var player = player([try recorded(.post, "http://x/a", body: one.0, one.1)])
        #expect(describe(player.play(try request(.post, "http://x/a", body: other.0, other.1))) == "200")
    }

    @Test func nearestExchangeIsNamed() throws {
        let exchanges = [
            try recorded(.get, "http://x/a?page=1"), try recorded(.post, "http://x/a", body: "{\"title\":\"Hi\"}"),
        ]
        var player = player(exchanges)
        let start = "the cassette \"c.json\" has no exchange for"
        #expect(
            describe(player.play(try request(.get, "http://x/a?page=2")))
                == "\(start) GET http://x/a?page=2; the nearest, number 1 (GET http://x/a?page=1), has \"page=1\" in its query "
                + "instead of \"page=2\"")
        #expect(
            describe(player.play(try request(.post, "http://x/a", body: "{\"title\":\"Ho\"}")))
                == "\(start) POST http://x/a; the nearest, number 2 (POST http://x/a), has a different JSON body at \"/title\""
        )
        #expect(
            describe(player.play(try request(.get, "http://x/b")))
                == "\(start) GET http://x/b; the nearest, number 1 (GET http://x/a?page=1), is for \"http://x/a\"")
        var empty = self.player([])
        #expect(
            describe(empty.play(try request(.get, "http://x/")))
                == "\(start) GET http://x/: it is empty; record it first")
    }
}
