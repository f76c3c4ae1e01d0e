import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct DigestAuthenticationTests {
    private static let random = [UInt8](repeating: 7, count: DigestAuthentication.randomByteCount)

    private func login(_ user: String = "Mufasa", _ password: String = "Circle of Life") -> DigestAuthentication {
        DigestAuthentication(user: user, password: password, hashes: TestHashes.all)
    }

    private func url(_ target: String) throws -> RequestURL { try RequestURL("http://api.test" + target) }

    private func challenged(
        _ login: inout DigestAuthentication, _ fields: String..., target: String = "/", body: RequestBody = .none
    ) throws -> DigestAuthentication.Verdict {
        var call = DigestAuthentication.Repetitions()
        return login.challenged(Challenge.parse(fields), for: try url(target), body: body, &call)
    }

    /// Challenges a call that may have been challenged before.
    private func challenged(
        _ login: inout DigestAuthentication, _ call: inout DigestAuthentication.Repetitions, _ field: String
    ) throws -> DigestAuthentication.Verdict {
        login.challenged(Challenge.parse([field]), for: try url("/"), body: .none, &call)
    }

    private func respond(
        _ login: inout DigestAuthentication, _ method: Method = .get, _ target: String = "/",
        body: RequestBody = .none, random: [UInt8] = random
    ) throws -> Challenge {
        let value = try #require(login.authorization(method, try url(target), body: body, random: random))
        return try #require(Challenge.parse([value]).first)
    }

    private static func bytes(base64 text: String) -> [UInt8] {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let bits = text.utf8.compactMap { alphabet.firstIndex(of: $0) }
        return stride(from: 0, to: bits.count, by: 4).flatMap { start in
            let group = bits[start..<start + 4].reduce(0) { $0 << 6 | $1 }
            return [16, 8, 0].map { UInt8(group >> $0 & 255) }
        }
    }

    // MARK: Vectors

    @Test func testHashesMatchKnownValues() {
        func hexadecimal(_ bytes: [UInt8]) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        let abc = Array("abc".utf8)
        #expect(hexadecimal(TestHashes.md5(abc)) == "900150983cd24fb0d6963f7d28e17f72")
        #expect(
            hexadecimal(TestHashes.sha256(abc)) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hexadecimal(TestHashes.sha512_256(abc))
                == "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23")
    }

    /// RFC 7616 section 3.9.1.
    @Test(arguments: [
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
    ])
    func firstExampleOfTheRFCMatches(algorithm: String, response: String) throws {
        var login = login()
        let challenge =
            "Digest realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm=\(algorithm), "
            + "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
            + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
        #expect(try challenged(&login, challenge) == .respond)
        let value = login.authorization(
            .get, try url("/dir/index.html"), body: .none,
            random: Self.bytes(base64: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"))
        #expect(
            value == "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", "
                + "algorithm=\(algorithm), nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, "
                + "cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, response=\"\(response)\", "
                + "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"")
    }

    /// RFC 7616 section 3.9.2 as corrected by erratum 4897: the digests in the RFC are not SHA-512/256.
    @Test(arguments: [true, false])
    func secondExampleOfTheRFCMatches(hashesUser: Bool) throws {
        var login = login("J\u{e4}s\u{f8}n Doe", "Secret, or not?")
        let challenge =
            "Digest realm=\"api@example.org\", qop=\"auth\", algorithm=SHA-512-256, "
            + "nonce=\"5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK\", "
            + "opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS\", charset=UTF-8, userhash=\(hashesUser)"
        #expect(try challenged(&login, challenge) == .respond)
        let random = Self.bytes(base64: "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v")
        let value = try #require(login.authorization(.get, try url("/doe.json"), body: .none, random: random))
        #expect(value.contains("response=\"3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5\""))
        let name =
            hashesUser
            ? "username=\"793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b\""
            : "username*=UTF-8''J%C3%A4s%C3%B8n%20Doe"
        #expect(value.hasPrefix("Digest \(name), "))
        #expect(value.hasSuffix(", userhash=true") == hashesUser)
    }

    // MARK: Verification by a server

    /// Returns whether the response matches the password. An independent implementation of RFC 7616 section 3.4.
    private func isRight(
        _ response: Challenge, password: String, user: String = "Mufasa", _ method: String, body: String? = nil
    ) throws -> Bool {
        var name = response["algorithm"] ?? "MD5"
        let isSession = name.hasSuffix("-sess")
        if isSession { name.removeLast(5) }
        let algorithm = try #require(DigestAuthentication.Algorithm(rawValue: name.lowercased()))
        let hash = try #require(TestHashes.all[algorithm])
        func digest(_ texts: String?...) -> String {
            let text = texts.compactMap { $0 }.joined(separator: ":")
            return hash(Array(text.utf8)).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        var key = digest(user, response["realm"], password)
        if isSession { key = digest(key, response["nonce"], response["cnonce"]) }
        let request = digest(method, response["uri"], body.map { digest($0) })
        return response["response"]
            == digest(key, response["nonce"], response["nc"], response["cnonce"], response["qop"], request)
    }

    @Test(arguments: ["MD5", "MD5-sess", "SHA-256", "sha-256-sess", "SHA-512-256", "SHA-512-256-sess", ""])
    func serverComputesTheSameResponse(algorithm: String) throws {
        var login = login()
        let name = algorithm.isEmpty ? "" : ", algorithm=\(algorithm)"
        #expect(try challenged(&login, "Digest realm=\"a\\\"b\", nonce=n, qop=\"auth\"" + name) == .respond)
        for count in 1...3 {
            let random = [UInt8](repeating: UInt8(count), count: 33)
            let response = try respond(&login, .post, "/a?b=c", random: random)
            #expect(response["nc"] == "0000000\(count)" && response["algorithm"] == (name.isEmpty ? nil : algorithm))
            #expect(try isRight(response, password: "Circle of Life", "POST"))
            #expect(try !isRight(response, password: "Circle of life", "POST"))
        }
    }

    @Test func withoutQopThereIsNoNonceCount() throws {
        var login = login()
        #expect(try challenged(&login, "Digest realm=r, nonce=n") == .respond)
        let response = try respond(&login)
        #expect(response["qop"] == nil && response["nc"] == nil && response["cnonce"] == nil)
        #expect(try isRight(response, password: "Circle of Life", "GET"))
        #expect(try challenged(&login, "Digest realm=r, nonce=n, algorithm=SHA-256") == .stop(.notSupported))
    }

    @Test func authIntHashesTheBody() throws {
        var login = login()
        let body = RequestBody.bytes(ByteBuffer(string: "content"))
        let field = "Digest realm=r, nonce=n, qop=\"auth-int\""
        #expect(try challenged(&login, field, body: body) == .respond)
        let first = try respond(&login, .put, "/", body: body)
        #expect(first["qop"] == "auth-int")
        #expect(try isRight(first, password: "Circle of Life", "PUT", body: "content"))
        #expect(try isRight(try respond(&login), password: "Circle of Life", "GET", body: ""))

        let stream = RequestBody.stream(length: nil)
        #expect(login.preemptive(.put, try url("/"), body: stream, random: Self.random) == nil)
        #expect(try challenged(&login, field, body: stream) == .stop(.bodyIsNotInMemory))
        // The stronger challenge requires the hash of the body, so the client responds to the weaker one.
        #expect(
            try challenged(
                &login, "Digest realm=r, nonce=n, algorithm=SHA-256, qop=\"auth-int\"",
                "Digest realm=r, nonce=n, qop=\"auth\"", body: stream) == .respond)
        #expect(try respond(&login, .put, "/", body: stream)["algorithm"] == nil)
    }

    // MARK: Choice of the challenge

    @Test func strongestAlgorithmIsUsed() throws {
        var login = login()
        #expect(
            try challenged(
                &login, "Basic realm=r, Digest realm=r, nonce=a, algorithm=MD5, qop=\"auth\"",
                "Digest realm=r, nonce=x, algorithm=SHA-999, qop=\"auth\"",
                "Digest realm=r, nonce=b, algorithm=SHA-256, qop=\"auth\"") == .respond)
        #expect(try respond(&login)["nonce"] == "b")
    }

    @Test func unsupportedChallengeIsReported() throws {
        var login = login()
        #expect(try challenged(&login, "Basic realm=r") == .stop(.notOffered))
        for field in ["Digest nonce=n, qop=\"auth\"", "Digest realm=r, nonce=n, qop=\"x\"", "Digest realm=r"] {
            #expect(try challenged(&login, field) == .stop(.notSupported))
        }
        #expect(login.authorization(.get, try url("/"), body: .none, random: Self.random) == nil)
        login = DigestAuthentication(user: "u", password: "p", hashes: [.sha256: TestHashes.sha256])
        #expect(try challenged(&login, "Digest realm=r, nonce=n, qop=\"auth\"") == .stop(.notSupported))
    }

    // MARK: Repeated challenges

    @Test func second401IsFinalUnlessTheNonceIsStale() throws {
        var login = login()
        let field = "Digest realm=r, nonce=n, qop=\"auth\""
        var call = DigestAuthentication.Repetitions()
        #expect(try challenged(&login, &call, field) == .respond)
        #expect(try challenged(&login, &call, field + ", stale=TRUE") == .respond)
        #expect(try challenged(&login, &call, field + ", stale=true") == .stop(.refused))
        // Rejected credentials are not sent preemptively.
        #expect(login.preemptive(.get, try url("/"), body: .none, random: Self.random) == nil)
        call = DigestAuthentication.Repetitions()
        #expect(try challenged(&login, &call, field) == .respond)
        #expect(try challenged(&login, &call, field) == .stop(.refused))
    }

    /// The first 401 responds to credentials that were sent without a challenge. RFC 7616 section 3.3.
    @Test(arguments: ["", ", stale=true"]) func staleNonceIsReplacedOnceInACall(second: String) throws {
        var login = login()
        let field = "Digest realm=r, nonce=n, qop=\"auth\""
        var call = DigestAuthentication.Repetitions()
        #expect(try challenged(&login, &call, field + ", stale=true") == .respond)
        #expect(try challenged(&login, &call, field + second) == .stop(.refused))
    }

    @Test func nonceIsReusedInItsProtectionSpace() throws {
        var login = login()
        #expect(
            try challenged(
                &login, "Digest realm=r, nonce=n, qop=\"auth\", domain=\"/a/ http://api.test/b http://other.test/c\"")
                == .respond)
        for (target, isSent) in [("/a/x", true), ("/b?q", true), ("/c", false), ("/", false)] {
            let value = login.preemptive(.get, try url(target), body: .none, random: Self.random)
            #expect((value != nil) == isSent, "\(target)")
        }
        let other = try RequestURL("https://api.test/a/x")
        #expect(login.authorization(.get, other, body: .none, random: Self.random) == nil)
        #expect(try challenged(&login, "Digest realm=r, nonce=n, qop=\"auth\"") == .respond)
        #expect(login.preemptive(.get, try url("/anything"), body: .none, random: Self.random) != nil)
    }

    @Test func nextNonceIsUsed() throws {
        var login = login()
        #expect(try challenged(&login, "Digest realm=r, nonce=n, qop=\"auth\"") == .respond)
        let sent = try #require(login.authorization(.get, try url("/"), body: .none, random: Self.random))
        let origin = try url("/").origin
        let info = "nextnonce=\"m\""
        let other = try RequestURL("http://other.test/").origin
        #expect(login.accepted(info, to: sent, from: other) == true)
        #expect(login.accepted("nc=00000001", to: sent, from: origin) == true)
        #expect(try respond(&login)["nonce"] == "n")
        #expect(login.accepted(info, to: sent, from: origin) == true)
        let next = try respond(&login)
        #expect(next["nonce"] == "m" && next["nc"] == "00000001")
        #expect(try isRight(next, password: "Circle of Life", "GET"))
    }

    /// Returns the `rspauth` value of the server. An independent implementation of RFC 7616 section 3.5.
    private func proof(of response: Challenge, password: String = "Circle of Life", session: String? = nil) throws
        -> String
    {
        var name = response["algorithm"] ?? "MD5"
        let isSession = name.hasSuffix("-sess")
        if isSession { name.removeLast(5) }
        let algorithm = try #require(DigestAuthentication.Algorithm(rawValue: name.lowercased()))
        let hash = try #require(TestHashes.all[algorithm])
        func digest(_ texts: String?...) -> String {
            hash(Array(texts.compactMap { $0 }.joined(separator: ":").utf8)).map {
                ($0 < 16 ? "0" : "") + String($0, radix: 16)
            }.joined()
        }
        var key = digest("Mufasa", response["realm"], password)
        if isSession { key = digest(key, session ?? response["nonce"], response["cnonce"]) }
        return digest(key, response["nonce"], response["nc"], response["cnonce"], "auth", digest("", response["uri"]))
    }

    @Test(arguments: ["MD5", "MD5-sess", "SHA-256", "SHA-256-sess"])
    func serverProofIsVerified(algorithm: String) throws {
        var login = login()
        #expect(try challenged(&login, "Digest realm=r, nonce=n, qop=\"auth\", algorithm=\(algorithm)") == .respond)
        let origin = try url("/").origin
        var sent = try #require(login.authorization(.get, try url("/a"), body: .none, random: Self.random))
        func info(_ password: String, _ more: String = "", qop: String = "auth") throws -> String {
            let response = try #require(Challenge.parse([sent]).first)
            return "qop=\(qop), rspauth=\"\(try proof(of: response, password: password, session: "n"))\"" + more
        }
        #expect(login.accepted(try info("Circle", ", nextnonce=\"x\""), to: sent, from: origin) == false)
        #expect(try respond(&login)["nonce"] == "n")
        #expect(login.accepted(try info("Circle of Life", ", nextnonce=\"m\""), to: sent, from: origin) == true)
        // The proof is also verified after nextnonce. The proof for an earlier request is rejected.
        let earlier = try info("Circle of Life")
        sent = try #require(login.authorization(.get, try url("/a"), body: .none, random: Self.random))
        #expect(sent.contains("nonce=\"m\""))
        #expect(login.accepted(try info("Circle of Life").uppercased(), to: sent, from: origin) == true)
        #expect(login.accepted(try info("Circle of Life"), to: sent, from: origin) == true)
        #expect(login.accepted(earlier, to: sent, from: origin) == false)
        // Invalid fields, and fields that cannot be verified, are ignored.
        for text in [try info("wrong", qop: "auth-int"), "rspauth=\"0\"", "qop=auth", "", "\"", "rspauth, qop=auth"] {
            #expect(login.accepted(text, to: sent, from: origin) == true, "\(text)")
        }
    }

    @Test func credentialsAreMasked() throws {
        var login = login("the user", "the password")
        #expect(try challenged(&login, "Digest realm=r, nonce=n, algorithm=MD5-sess, qop=\"auth\"") == .respond)
        _ = try respond(&login)
        var text = ""
        dump(login, to: &text)
        #expect(!(text + "\(login)" + String(reflecting: login)).contains("the "))
    }
}
