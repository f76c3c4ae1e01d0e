import NIOCore
import NightjarHTTP
import Testing

@testable import NightjarTesting

/// Texts of cassettes are compared by code points. Swift treats canonically equivalent texts as equal.
@Suite struct ExactCassetteTests {
    private let one = "caf\u{e9}"
    private let other = "cafe\u{301}"

    @Test func jsonObjectsAreComparedByExactNames() {
        let object = JSONValue.object([.init(one, 1), .init(other, 2)])
        #expect(object.isEquivalent(to: .object([.init(other, 2), .init(one, 1)])))
        #expect(JSONValue.object([.init(one, 1)]).firstDifference(from: .object([.init(other, 1)])) != nil)
    }

    @Test func eachSpellingOfASecretIsScrubbed() throws {
        var scrubber = SecretScrubber(CassetteSecrets(values: ["secret-" + one, "secret-" + other]), .names(after: 0))
        var response = RecordedExchange.Response(status: 200)
        response.body = .text("secret-\(one) secret-\(other)")
        let exchange = RecordedExchange(.init(method: .get, url: "http://x/"), response)
        #expect(scrubber.scrub(exchange).response?.body == .text("scrubbed-1 scrubbed-2"))
    }

    @Test func equivalentBodiesAreDistinguished() throws {
        func exchange(_ text: String) -> RecordedExchange {
            var response = RecordedExchange.Response(status: 200)
            response.body = .text("response to " + text)
            return RecordedExchange(.init(method: .post, url: "http://x/", body: .text(text)), response)
        }
        var player = CassettePlayer(
            Cassette([exchange(one), exchange(other)]), CassetteComparison(), CassetteSecrets(), repeats: false,
            file: "a.json")
        let request = ArrivedRequest(
            method: .post, url: try RequestURL("http://x/"), headers: Headers(), body: ByteBuffer(string: other))
        guard case .play(let played) = player.play(request) else {
            Issue.record("nothing is played")
            return
        }
        #expect(played.response?.body == .text("response to " + other))
    }
}
