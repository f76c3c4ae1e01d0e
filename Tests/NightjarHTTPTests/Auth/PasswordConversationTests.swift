import NightjarTestSupport
import Testing

@testable import NightjarHTTP

/// Conversations of calls with a server that requires a password. RFC 7617, RFC 7616.
@Suite struct PasswordConversationTests {
    private static let basic = "Basic realm=\"files\", charset=\"UTF-8\""
    private static let digest = "Digest realm=\"files\", nonce=\"n1\", qop=\"auth\", algorithm=SHA-256"

    /// One call, whose passwords may be shared with other calls.
    private struct Call {
        var conversation = PasswordConversation()
        let url: RequestURL
        var body = RequestBody.none

        init(_ target: String, host: String = "http://api.test") throws { url = try RequestURL(host + target) }

        mutating func authorization(_ passwords: inout ProvidedPasswords) -> String? {
            conversation.authorization(
                .get, url, body: body, random: [UInt8](repeating: 7, count: DigestAuthentication.randomByteCount),
                &passwords)
        }

        mutating func challenged(
            _ passwords: inout ProvidedPasswords, _ fields: String...
        ) -> PasswordConversation.Action {
            conversation.challenged(Challenge.parse(fields), for: url, body: body, &passwords)
        }

        mutating func provide(
            _ user: String, _ password: String, _ passwords: inout ProvidedPasswords, _ fields: String...
        ) throws {
            let challenges = Challenge.parse(fields)
            let offer = try #require(PasswordOffer(challenges, for: body))
            let id = passwords.add(user: user, password: password, for: offer, from: url.origin)
            conversation.provided(id, challenges, for: url, body: body, &passwords)
        }

        mutating func succeed(_ passwords: inout ProvidedPasswords, status: Int = 200, field: String?) -> Bool {
            conversation.responded(status, info: nil, to: field, from: url, &passwords)
        }
    }

    private func passwords() -> ProvidedPasswords { ProvidedPasswords(hashes: TestHashes.all) }

    private func request(_ scheme: PasswordOffer.Scheme, rejections: Int = 0) -> PasswordConversation.Action {
        .request(PasswordOffer(scheme, realm: "files"), rejections: rejections)
    }

    /// Returns the passwords after a call to `target` whose password the server has accepted.
    private func accepted(_ target: String, _ field: String = basic) throws -> ProvidedPasswords {
        var passwords = passwords()
        var call = try Call(target)
        #expect(call.authorization(&passwords) == nil)
        _ = call.challenged(&passwords, field)
        try call.provide("u", "p", &passwords, field)
        let sent = call.authorization(&passwords)
        #expect(sent != nil)
        #expect(call.succeed(&passwords, field: sent))
        return passwords
    }

    private static let offers: [([String], PasswordOffer?)] = [
        ([basic], PasswordOffer(.basic, realm: "files")), ([basic, digest], PasswordOffer(.digest, realm: "files")),
        (["Basic"], PasswordOffer(.basic, realm: "")), (["Negotiate, \(basic)"], PasswordOffer(.basic, realm: "files")),
        (
            ["Digest realm=\"a\", nonce=\"n\", qop=\"auth\", algorithm=SHA3", basic],
            PasswordOffer(.basic, realm: "files")
        ),
        (["Bearer realm=\"files\""], nil), ([], nil),
    ]

    @Test(arguments: offers) func strongestSchemeIsOffered(fields: [String], offer: PasswordOffer?) {
        #expect(PasswordOffer(Challenge.parse(fields), for: .none) == offer)
    }

    @Test func wrongPasswordsAreCountedUntilOneIsAccepted() throws {
        var passwords = passwords()
        var call = try Call("/private/a")
        #expect(call.authorization(&passwords) == nil)
        #expect(call.challenged(&passwords, Self.basic) == request(.basic))
        for count in 1...2 {
            try call.provide("u", "wrong \(count)", &passwords, Self.basic)
            #expect(call.authorization(&passwords) == BasicCredentials.field(user: "u", password: "wrong \(count)"))
            #expect(call.challenged(&passwords, Self.basic) == request(.basic, rejections: count))
        }
        try call.provide("u", "right", &passwords, Self.basic)
        let sent = call.authorization(&passwords)
        #expect(sent == BasicCredentials.field(user: "u", password: "right"))
        #expect(call.succeed(&passwords, field: sent))
        var next = try Call("/private/b")
        #expect(next.authorization(&passwords) == sent)
    }

    @Test func atMostFivePasswordsAreRequested() throws {
        var passwords = passwords()
        var call = try Call("/")
        for count in 0..<PasswordConversation.maximumRequests {
            #expect(call.challenged(&passwords, Self.basic) == request(.basic, rejections: count))
            try call.provide("u", "wrong", &passwords, Self.basic)
            _ = call.authorization(&passwords)
        }
        #expect(call.challenged(&passwords, Self.basic) == .stop(.rejected))
        #expect(passwords.find(PasswordOffer(.basic, realm: "files"), from: call.url.origin) == nil)
    }

    /// A server that changes its nonce or its realm forever does not cause an endless loop.
    @Test func roundsAreBounded() throws {
        var passwords = passwords()
        var call = try Call("/")
        var rounds = 0
        while rounds < 100 {
            let field = "Digest realm=\"files\", nonce=\"n\(rounds)\", qop=\"auth\", stale=true"
            rounds += 1
            switch call.challenged(&passwords, field) {
            case .send: break
            case .request: try call.provide("u", "p", &passwords, field)
            case .stop(let reason):
                #expect(reason == .rejected)
                #expect(rounds <= PasswordConversation.maximumRounds + 1)
                return
            }
            _ = call.authorization(&passwords)
        }
        Issue.record("no end after \(rounds) rounds")
    }

    @Test func digestRespondsToANewNonceWithoutAQuestion() throws {
        var passwords = try accepted("/a", Self.digest)
        var call = try Call("/b")
        let sent = call.authorization(&passwords)
        let first = try #require(sent)
        #expect(Challenge.parse([first]).first?["nc"] == "00000002", "the nonce is used again")
        let stale = "Digest realm=\"files\", nonce=\"n2\", qop=\"auth\", algorithm=SHA-256, stale=true"
        #expect(call.challenged(&passwords, stale) == .send)
        let next = call.authorization(&passwords)
        let second = try #require(next.flatMap { Challenge.parse([$0]).first })
        #expect(second["nonce"] == "n2")
        #expect(call.challenged(&passwords, stale) == request(.digest, rejections: 1), "the password is wrong by now")
    }

    /// After a redirect, the request still has the digest for the earlier URL.
    @Test func digestRespondsAgainAfterARedirect() throws {
        var passwords = passwords()
        var call = try Call("/a")
        _ = call.challenged(&passwords, Self.digest)
        try call.provide("u", "p", &passwords, Self.digest)
        _ = call.authorization(&passwords)
        let next = try RequestURL("http://api.test/b")
        let action = call.conversation.challenged(
            Challenge.parse([Self.digest]), for: next, body: .none, &passwords)
        #expect(action == .send)
    }

    @Test(arguments: [
        ("/private/b", true), ("/private/sub/b?q=1", true), ("/private/", true), ("/privateer", false), ("/", false),
    ]) func acceptedBasicPasswordIsSentBelowItsDirectory(target: String, isSent: Bool) throws {
        var passwords = try accepted("/private/a?x=/y/")
        var call = try Call(target)
        #expect((call.authorization(&passwords) != nil) == isSent)
    }

    @Test func knownPasswordRespondsToTheRealmElsewhere() throws {
        var passwords = try accepted("/private/a")
        var call = try Call("/other/a")
        #expect(call.authorization(&passwords) == nil)
        #expect(
            call.challenged(&passwords, "Basic realm=\"another\"")
                == .request(.init(.basic, realm: "another"), rejections: 0))
        #expect(call.challenged(&passwords, Self.basic) == .send)
        #expect(call.authorization(&passwords) != nil)
    }

    @Test(arguments: ["http://other.test", "https://api.test", "http://api.test:8080"])
    func otherOriginsNeverReceiveThePassword(host: String) throws {
        for field in [Self.basic, Self.digest] {
            var passwords = try accepted("/a", field)
            var call = try Call("/a", host: host)
            #expect(call.authorization(&passwords) == nil)
            #expect(call.challenged(&passwords, field) != .send)
            var same = try Call("/a")
            #expect(same.authorization(&passwords) != nil)
        }
    }

    /// A password that was not accepted is not sent with other calls.
    @Test(arguments: [500, 503]) func serverErrorDoesNotAcceptThePassword(status: Int) throws {
        var passwords = passwords()
        var call = try Call("/a")
        _ = call.challenged(&passwords, Self.basic)
        try call.provide("u", "p", &passwords, Self.basic)
        let sent = call.authorization(&passwords)
        #expect(call.succeed(&passwords, status: status, field: sent))
        #expect(call.authorization(&passwords) == sent, "a retry sends it again")
        var other = try Call("/a")
        #expect(other.authorization(&passwords) == nil)
    }

    /// Another call has received a new password in the meantime.
    @Test func newerPasswordOfAnotherCallIsUsed() throws {
        var passwords = try accepted("/a")
        var (first, second) = (try Call("/a"), try Call("/a"))
        _ = first.authorization(&passwords)
        _ = second.authorization(&passwords)
        #expect(first.challenged(&passwords, Self.basic) == request(.basic, rejections: 1))
        try first.provide("u", "new", &passwords, Self.basic)
        #expect(second.challenged(&passwords, Self.basic) == .send)
        #expect(second.authorization(&passwords) == BasicCredentials.field(user: "u", password: "new"))
    }

    @Test func forgottenPasswordsAreNotSent() throws {
        var passwords = try accepted("/a")
        passwords.removeAll()
        var call = try Call("/a")
        #expect(call.authorization(&passwords) == nil)
        #expect(call.challenged(&passwords, Self.basic) == request(.basic))
    }

    @Test func descriptionHasNoSecrets() throws {
        let passwords = try accepted("/a")
        #expect("\(passwords)" == "passwords ***")
        #expect(String(reflecting: passwords) == "passwords ***")
    }
}
