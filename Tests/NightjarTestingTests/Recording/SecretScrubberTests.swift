import NIOCore
import Testing

@testable import NightjarHTTP
@testable import NightjarTesting

@Suite struct SecretScrubberTests {
    private func exchange(
        _ url: String = "http://x/", _ fields: [(String, String)] = [], body: String = "",
        response reply: String = "", _ responseFields: [(String, String)] = []
    ) throws -> RecordedExchange {
        var (headers, others) = (Headers(), Headers())
        for (name, value) in fields { try headers.add(name, value) }
        for (name, value) in responseFields { try others.add(name, value) }
        var response = RecordedExchange.Response(status: 200)
        response.headers = others
        response.body = RecordedBody(ByteBuffer(string: reply))
        return RecordedExchange(
            .init(method: .post, url: url, headers: headers, body: RecordedBody(ByteBuffer(string: body))), response)
    }

    private let form = ("Content-Type", "application/x-www-form-urlencoded")

    @Test func secretHasOneReplacementEverywhere() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let login = scrubber.scrub(
            try exchange(
                "http://x/token", [form], body: "grant_type=refresh_token&refresh_token=R-123456&scope=read",
                response:
                    "{\"access_token\":\"A-123456\",\"token_type\":\"Bearer\",\"expires_in\":60,\"refresh_token\":\"R-234567\"}"
            ))
        #expect(login.request.body == .text("grant_type=refresh_token&refresh_token=scrubbed-1&scope=read"))
        #expect(
            String(buffer: login.response?.body.bytes ?? ByteBuffer())
                == "{\"access_token\":\"scrubbed-2\",\"token_type\":\"Bearer\",\"expires_in\":60,\"refresh_token\":\"scrubbed-3\"}"
        )
        let call = scrubber.scrub(
            try exchange(
                "http://x/a?api_key=K-1234567&q=1", [("Authorization", "Bearer A-123456")], response: "you are A-123456"
            ))
        #expect(call.request.headers["Authorization"] == "Bearer scrubbed-2")
        #expect(call.request.url == "http://x/a?api_key=scrubbed-4&q=1")
        #expect(call.response?.body == .text("you are scrubbed-2"))
    }

    @Test func cookiesKeepTheirNamesAndAttributes() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 6))
        let scrubbed = scrubber.scrub(
            try exchange(
                "http://x/", [("Cookie", "sid=abcdef; theme=dark-blue")], response: "",
                [("Set-Cookie", "sid=ghijkl; Path=/; HttpOnly"), ("Set-Cookie", "old=; Max-Age=0")]))
        #expect(scrubbed.request.headers["Cookie"] == "sid=scrubbed-7; theme=scrubbed-8")
        #expect(
            scrubbed.response?.headers.values("Set-Cookie") == ["sid=scrubbed-9; Path=/; HttpOnly", "old=; Max-Age=0"])
    }

    @Test func challengeIsNotASecret() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let challenge = ("WWW-Authenticate", "Digest realm=\"x\", nonce=\"abcdef\"")
        #expect(
            scrubber.scrub(try exchange(response: "", [challenge])).response?.headers["WWW-Authenticate"] == challenge.1
        )
    }

    @Test func passwordIsScrubbedElsewhere() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let credentials = "YWRhOmNvcnJlY3QgaG9yc2U="  // ada:correct horse
        let scrubbed = scrubber.scrub(
            try exchange(
                "http://x/", [("Authorization", "Basic \(credentials)")], response: "{\"said\":\"correct horse\"}"))
        #expect(scrubbed.request.headers["Authorization"] == "Basic scrubbed-2")
        #expect(scrubbed.response?.body == .json(.object([.init("said", .string("scrubbed-1"))])))
    }

    @Test func secretWithEscapedCharactersIsScrubbedElsewhere() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let scrubbed = scrubber.scrub(
            try exchange(
                body: #"{"email":"ada@example.org","password":"p\"ass\\word1"}"#,
                response: #"{"said":"the password p\"ass\\word1 is old","p\"ass\\word1":[1]}"#))
        #expect(
            scrubbed.response?.body
                == .json(try JSONValue(parsing: #"{"said":"the password scrubbed-1 is old","scrubbed-1":[1]}"#)))
    }

    @Test func ambiguousNamesAreSecretOnlyInLogins() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let problem = "{\"code\":\"not_found\",\"key\":\"PROJ-1234\"}"
        #expect(
            scrubber.scrub(try exchange(response: problem)).response?.body == RecordedBody(ByteBuffer(string: problem)))
        let login = scrubber.scrub(
            try exchange(body: "{\"code\":\"c0de-12345\",\"client_secret\":\"s3cr3t-12345\"}", response: ""))
        #expect(
            String(buffer: login.request.body.bytes) == "{\"code\":\"scrubbed-1\",\"client_secret\":\"scrubbed-2\"}")
    }

    @Test func membersOfASecretAreSecret() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let scrubbed = scrubber.scrub(
            try exchange(
                response: "{\"token\":{\"value\":\"v-1234567\",\"type\":\"Bearer\",\"expires_in\":3600},\"pin\":1}"))
        #expect(
            String(buffer: scrubbed.response?.body.bytes ?? ByteBuffer())
                == "{\"token\":{\"value\":\"scrubbed-1\",\"type\":\"Bearer\",\"expires_in\":3600},\"pin\":1}")
    }

    @Test func jsonLinesAreSearched() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let scrubbed = scrubber.scrub(
            try exchange(response: "data: {\"access_token\": \"A-123456\", \"n\": 1}\n\ndata: {\"n\": 2}\n\n"))
        #expect(
            scrubbed.response?.body
                == .text("data: {\"access_token\": \"scrubbed-1\", \"n\": 1}\n\ndata: {\"n\": 2}\n\n"))
    }

    @Test func rulesOfTheProgramApply() throws {
        var scrubber = SecretScrubber(
            CassetteSecrets(additionalNames: ["X-Tenant", "ssn"], values: ["bot12345:AAF"]), .names(after: 0))
        let scrubbed = scrubber.scrub(
            try exchange(
                "http://x/bot12345:AAF/send?ssn=078-05-1120", [("X-Tenant", "acme-42")],
                response: "{\"ssn\":\"078-05-1120\"}"))
        #expect(scrubbed.request.url == "http://x/scrubbed-1/send?ssn=scrubbed-3")
        #expect(scrubbed.request.headers["X-Tenant"] == "scrubbed-2")
        #expect(scrubbed.response?.body == .json(.object([.init("ssn", .string("scrubbed-3"))])))
    }

    @Test func laterSecretIsScrubbedFromEarlierExchanges() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        let early = scrubber.scrub(try exchange(response: "echo A-123456"))
        _ = scrubber.scrub(try exchange("http://x/", [("Authorization", "Bearer A-123456")]))
        #expect(scrubber.scrubSeen(early).response?.body == .text("echo scrubbed-1"))
    }

    @Test func highestReplacementNumberIsFound() {
        #expect(SecretScrubber.highestNumber(in: "scrubbed-7 scrubbed-x scrubbed-12, scrubbed-") == 12)
        #expect(SecretScrubber.highestNumber(in: "") == 0)
    }

    @Test func secretNumberElsewhereHidesOthers() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        #expect(scrubber.name(of: "493021") == "scrubbed-1")
        #expect(scrubber.name(of: "moonlight") == "scrubbed-2")
        let scrubbed = scrubber.scrub(
            try exchange(response: "{\"id\":493021,\"by\":[\"moonlight\",\"493021x\"],\"moonlight\":1}"))
        #expect(
            String(buffer: scrubbed.response?.body.bytes ?? ByteBuffer())
                == "{\"id\":\"scrubbed-1\",\"by\":[\"scrubbed-2\",\"scrubbed-1x\"],\"scrubbed-2\":1}")
    }

    @Test func binaryBodyWithASecretIsReported() throws {
        var scrubber = SecretScrubber(CassetteSecrets(), .names(after: 0))
        _ = scrubber.name(of: "moonlight")
        var bytes = try exchange()
        bytes.response?.body = .binary(ByteBuffer(bytes: [0xff] + Array("moonlight".utf8)))
        #expect(scrubber.isSecretInBytes(of: bytes))
        bytes.response?.body = .binary(ByteBuffer(bytes: [0xff] + Array("moonligh".utf8)))
        #expect(!scrubber.isSecretInBytes(of: bytes))
    }

    @Test func shortSecretIsFoundOnlyAsAWord() throws {
        for (reply, isThere) in [("key=k3yz", true), ("k3yz", true), ("ak3yz k3yzb", false), ("ak3yz.k3yz", true)] {
            #expect(SecretScrubber.hasWord(["none", "k3yz"], in: try exchange(response: reply)) == isThere, "\(reply)")
        }
        #expect(!SecretScrubber.hasWord([], in: try exchange(response: "k3yz")))
    }
}
