import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct LocationTests {
    private func resolve(
        _ location: [UInt8], _ base: String, fragment: String? = nil
    ) throws(NightjarError) -> Location {
        let base = try RequestURL(base)
        return try location.withUnsafeBytes { bytes in
            Result { () throws(NightjarError) in try Location(bytes, base: base, fragment: fragment) }
        }.get()
    }

    private func resolve(_ location: String, _ base: String = "http://a/b/c/d;p?q") throws(NightjarError) -> String {
        let url = try resolve(Array(location.utf8), base).url
        return url.origin.description + url.target
    }

    /// Compares the resolved URL with that of curl. `#s` is skipped, because curl 7.88 removes the last path segment.
    @Test(arguments: RFC3986Tests.normalExamples + RFC3986Tests.abnormalExamples)
    func referenceIsResolvedAsByCurl(_ row: RFC3986Tests.Row) throws {
        guard case .reference(let reference, _) = row.input, case .url(let expected) = row.expected, reference != "#s"
        else { return }
        let peer = try ScriptedPeer([[.expectRequest, .respond("302 Found", headers: ["Location: \(reference)"])]])
        let result = try run(
            "curl",
            [
                "--silent", "--noproxy", "*", "--output", "/dev/null", "--write-out", "%{redirect_url}", "--connect-to",
                "a:80:127.0.0.1:\(peer.port)", "http://a/b/c/d;p?q",
            ])
        #expect(result.text.prefix { $0 != "#" } == expected)
    }

    @Test func bytesThatAreNotUTF8AreEncoded() throws {
        #expect(try resolve([0x2F, 0xFC, 0xFF], "http://a/").url.target == "/%FC%FF")
    }

    @Test(arguments: [
        ("", "its Location is empty"),
        ("file:///etc/passwd", "the scheme \"file\" of its Location is not http or https"),
        ("ftp://b/x", "the scheme \"ftp\" of its Location is not http or https"),
        ("javascript:alert(1)", "the scheme \"javascript\" of its Location is not http or https"),
        ("localhost:8080/x", "the scheme \"localhost\" of its Location is not http or https"),
        ("http:g", "its Location has \"http\" without :// after it"),
        ("https:/x", "its Location has \"https\" without :// after it"),
        ("/a\r\nSet-Cookie: x", "its Location contains the control character 0xd"),
        ("/a\nb", "its Location contains the control character 0xa"),
        ("/a\0b", "its Location contains the control character 0x0"),
        ("/a\tb", "its Location contains the control character 0x9"),
        (
            "http://user:secret@b/",
            "its Location contains a user name or password, which a server must not choose for the client"
        ),
        ("//good@b/", "its Location contains a user name or password, which a server must not choose for the client"),
        ("http:///x", "its Location is invalid: the URL has no host; add one, as in http://host"),
        ("http://b\\c/", "its Location is invalid: \"\\\\\" is not allowed in a host name"),
        (
            "http://b:99999/",
            "its Location is invalid: the port is not a number from 1 to 65535; "
                + "percent-encode / ? # @ in a password"
        ),
    ])
    func invalidLocationsAreRejected(location: String, why: String) throws {
        let error = try #require(throws: NightjarError.self) { try resolve(location) }
        #expect(error.kind == .protocol)
        #expect(error.message == "the redirect cannot be followed: " + why)
    }

    @Test func tooLongLocationIsRejected() throws {
        let limit = RequestTarget.maximumLength
        for location in [String(repeating: "x", count: limit + 1), "/" + String(repeating: " ", count: limit / 2)] {
            let error = try #require(throws: NightjarError.self) { try resolve(location) }
            #expect(error.message == "the redirect cannot be followed: its Location is longer than 65536 bytes")
        }
        #expect(try resolve("/" + String(repeating: "x", count: limit - 1)).utf8.count == limit + 8)
    }

    @Test func fragmentOfTheRequestIsInherited() throws {
        #expect(try resolve(Array("/x".utf8), "http://a/", fragment: "top").fragment == "top")
        #expect(try resolve(Array("/x#".utf8), "http://a/", fragment: "top").fragment == "")
        #expect(try resolve(Array("/x#new one#2".utf8), "http://a/", fragment: "top").fragment == "new%20one%232")
        #expect(try resolve(Array("/x".utf8), "http://a/").fragment == nil)
    }

    @Test func userInfoIsKeptWithinTheOrigin() throws {
        #expect(try resolve(Array("/x".utf8), "http://u:p@a/").url.userInfo?.password == "p")
        #expect(try resolve(Array("http://a:80/x".utf8), "http://u:p@a/").url.userInfo?.password == "p")
        #expect(try resolve(Array("https://a/x".utf8), "http://u:p@a/").url.userInfo == nil)
        #expect(try resolve(Array("http://b/x".utf8), "http://u:p@a/").url.userInfo == nil)
    }

    @Test func randomBytesDoNotTrap() throws {
        for seed in UInt64(1)...2000 {
            var random = SeededRandom(seed: seed)
            let alphabet = Array("/.:?#@%[]\\ab1 \u{FC}".utf8) + [0, 10, 127, 255]
            let bytes = (0..<Int.random(in: 0..<40, using: &random)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &random)]
            }
            do throws(NightjarError) {
                let url = try resolve((seed % 2 == 0 ? Array("http:".utf8) : []) + bytes, "http://a/b/c?d").url
                #expect(url.target.first == "/", "seed \(seed)")
                // The resolved URL can be parsed and has the same origin.
                #expect(try RequestURL(url.origin.description + url.target).origin == url.origin, "seed \(seed)")
            } catch {
                #expect(error.kind == .protocol || error.kind == .invalidURL, "seed \(seed): \(error)")
            }
        }
    }
}
