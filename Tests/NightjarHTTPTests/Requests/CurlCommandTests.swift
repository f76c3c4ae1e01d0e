import NIOCore
import NightjarTestSupport
import Testing

@testable import NightjarHTTP

@Suite struct CurlCommandTests {
    private func record(
        _ method: Method, _ url: String, _ fields: [(String, String)] = [], body: Bytes? = nil
    ) throws -> RequestRecord {
        var request = Request(method, url)
        for (name, value) in fields { try request.headers.add(name, value) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body.array)) }
        return RequestRecord(try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: "nightjar/1"))
    }

    private func command(
        _ method: Method, _ url: String, _ fields: [(String, String)] = [], body: Bytes? = nil, shows: Bool = false
    ) throws -> String {
        CurlCommand(try record(method, url, fields, body: body), showsSecrets: shows).text
    }

    private static let agent = "-H 'User-Agent: nightjar/1' -H 'Accept:'"

    // MARK: The command

    @Test func commandIsMinimal() throws {
        #expect(try command(.get, "http://a/b?c=d") == "curl 'http://a/b?c=d' \(Self.agent)")
        #expect(
            try command(.get, "http://a/", [("Accept", "x/y")])
                == "curl 'http://a/' -H 'User-Agent: nightjar/1' -H 'Accept: x/y'")
        #expect(try command(.head, "http://a/") == "curl --head 'http://a/' \(Self.agent)")
        #expect(try command(.delete, "http://a/") == "curl -X DELETE 'http://a/' \(Self.agent)")
        #expect(
            try command(try #require(Method("A'B")), "http://a/") == "curl -X 'A'\\''B' 'http://a/' \(Self.agent)")
    }

    @Test func contentIsPassed() throws {
        #expect(
            try command(.post, "http://a/", [("Content-Type", "text/plain")], body: "it's\n@x")
                == "curl 'http://a/' -H 'User-Agent: nightjar/1' -H 'Content-Type: text/plain' -H 'Accept:' "
                + "-H 'Expect:' --data-raw 'it'\\''s\n@x'")
        #expect(
            try command(.post, "http://a/")
                == "curl 'http://a/' \(Self.agent) -H 'Content-Type:' -H 'Expect:' --data-raw ''")
        #expect(
            try command(.put, "http://a/", body: "x")
                == "curl -X PUT 'http://a/' \(Self.agent) -H 'Content-Type:' -H 'Expect:' --data-raw 'x'")
    }

    @Test func binaryContentIsReadFromStandardInput() throws {
        for body in [Bytes([0xFF]), Bytes([0]), Bytes(Array(repeating: 0x61, count: 4097))] {
            let command = CurlCommand(try record(.post, "http://a/", body: body))
            #expect(command.text.hasSuffix(" --data-binary @-"))
            #expect(command.standardInput.map { Array($0.readableBytesView) } == body.array)
        }
        #expect(CurlCommand(try record(.post, "http://a/", body: "x")).standardInput == nil)
    }

    @Test func specialCharactersAreEscaped() throws {
        #expect(try command(.get, "http://[::1]:8/") == "curl --globoff 'http://[::1]:8/' \(Self.agent)")
        #expect(try command(.get, "http://a/b/../c") == "curl --path-as-is 'http://a/b/../c' \(Self.agent)")
        #expect(
            try command(.get, "http://a/", [("X-Empty", ""), ("Host", "b"), ("Accept-Encoding", "gzip")])
                == "curl 'http://a/' -H 'Host: b' -H 'User-Agent: nightjar/1' -H 'X-Empty;' -H 'Accept-Encoding: gzip' "
                + "-H 'Accept:' --compressed")
    }

    // MARK: Secrets

    private static let secrets: [(String, String)] = [
        ("Authorization", "Bearer s3cret"), ("Cookie", "sid=s3cret; b=s3cret;s3cret"),
        ("X-Api-Key", "s3cret"), ("X-Auth-Token", "s3cret"), ("Referer", "http://u:s3cret@b/?token=s3cret#code=s3cret"),
    ]

    @Test func secretsAreMasked() throws {
        #expect(
            try command(.get, "http://u:s3cret@a/?page=2&api_key=s3cret", Self.secrets)
                == "curl 'http://a/?page=2&api_key=***' -H 'User-Agent: nightjar/1' -H 'Authorization: Bearer ***' "
                + "-H 'Cookie: sid=***; b=***;***' -H 'X-Api-Key: ***' "
                + "-H 'X-Auth-Token: ***' -H 'Referer: http://***@b/?token=***#code=***' -H 'Accept:'")
        let form = try command(
            .post, "http://a/", [("Content-Type", "application/x-www-form-urlencoded; charset=x")],
            body: "grant_type=x&client_secret=s3cret&password=s3cret")
        #expect(form.hasSuffix(" --data-raw 'grant_type=x&client_secret=***&password=***'"))
        let json = try command(
            .post, "http://a/", [("Content-Type", "application/problem+json")],
            body:
                #"{"user": "u", "password" : "s3\"cret", "a":{"token":123,"next":[{"refresh_token":null}]}, "key":{"a":["}"]}}"#
        )
        #expect(
            json.hasSuffix(
                #"'{"user": "u", "password" : "***", "a":{"token":"***","next":[{"refresh_token":"***"}]}, "key":"***"}'"#
            ))
    }

    @Test func fieldsMarkedByTheCallerAreMasked() throws {
        let record = try record(.get, "http://a/", [("X-Mine", "s3cret"), ("X-Yours", "y")])
        #expect(
            CurlCommand(record, sensitive: ["x-mine"]).text
                == "curl 'http://a/' -H 'User-Agent: nightjar/1' -H 'X-Mine: ***' -H 'X-Yours: y' -H 'Accept:'")
    }

    @Test func secretsAreShownOnRequest() throws {
        let text = try command(
            .post, "http://a/?api_key=s3cret", Self.secrets + [("Content-Type", "application/json")],
            body: #"{"password":"s3cret"}"#, shows: true)
        #expect(!text.contains("***"))
        #expect(text.contains("'Authorization: Bearer s3cret'"))
    }

    @Test func truncatedJSONIsMasked() {
        let whole = Array(#"{"a":[1,{"password":"s3cret\\"}], "token" : -1.5e3 ,"x\"":"y"}"#.utf8)
        for count in 0...whole.count {
            let text = Masking.json(String(decoding: whole.prefix(count), as: UTF8.self))
            #expect(!text.contains("s3"), "\(text)")
        }
        #expect(
            Masking.json(String(decoding: whole, as: UTF8.self))
                == #"{"a":[1,{"password":"***"}], "token" : "***" ,"x\"":"y"}"#)
    }

    // MARK: The shell

    /// Quotes each byte that an argument can contain, singly and with other bytes, for each installed shell.
    @Test(arguments: ["sh", "bash", "dash", "busybox"]) func everyByteIsQuoted(shell: String) throws {
        let arguments = shell == "busybox" ? ["sh", "-s"] : ["-s"]
        guard (try? run(shell, shell == "busybox" ? ["true"] : ["-c", "true"]))?.status == 0 else { return }
        var words: [[UInt8]] = (1...255).map { [UInt8($0)] }
        words += [[], (1...255).map { UInt8($0) }, Array("\u{1B}[31m\u{202E}é\n\n".utf8)]
        var random = SeededRandom(seed: 7)
        for _ in 0..<200 { words.append(random.bytes(40).filter { $0 != 0 }) }
        var script = Bytes("")
        for word in words { script = script + Bytes("printf %s\\\\000 \(ShellWord.quote(word))\n".utf8) }
        let result = try run(shell, arguments, input: script)
        #expect(result.status == 0, "\(result.errors)")
        let expected: [UInt8] = words.flatMap { $0 + [0] }
        #expect(result.output == expected)
    }

    @Test func controlCharactersAreEscaped() {
        for byte in UInt8(0)...255 where byte != 0x0A {
            #expect(ShellWord.quote([byte]).unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F })
        }
        #expect(ShellWord.quote(Array("a\u{1B}\u{9B}b".utf8)) == "'a'\"$(printf '\\033\\302\\233')\"'b'")
    }

    // MARK: Curl itself

    @Test func curlSendsTheSameRequest() throws {
        let requests: [(Method, String, [(String, String)], Bytes?)] = [
            (.get, "/a/../b?x=%20{y}", [], nil),
            (.get, "/", [("Accept", "*/*"), ("X-Empty", ""), ("X-Latin", "\u{E9}'\"\\$`!"), ("Cookie", "a=b")], nil),
            (.head, "/", [], nil), (.delete, "/x", [("X-Tab", "a\tb")], nil), (.post, "/", [], nil),
            (.put, "/", [("Content-Type", "text/plain")], "it's \\ $HOME `x`\n@\r\n\t!\n\n"),
            (.post, "/", [], Bytes((0...255).map { UInt8($0) })),
            (.patch, "/", [], Bytes(Array(repeating: 0x78, count: 2 << 20))),
            (.get, "/", [("Content-Type", "a/b")], "body on GET"), (.options, "/", [("Accept-Encoding", "gzip")], nil),
        ]
        for (method, target, fields, body) in requests {
            let peer = try ScriptedPeer([[.expectRequest, .respond()]])
            var request = Request(method, "http://127.0.0.1:\(peer.port)\(target)")
            for (name, value) in fields { try request.headers.add(name, value) }
            request.allowsBodyOnGet = true
            if let body { request.body = .bytes(ByteBuffer(bytes: body.array)) }
            let prepared = try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
            let command = CurlCommand(RequestRecord(prepared), showsSecrets: true)
            let input = Bytes(command.standardInput.map { Array($0.readableBytesView) } ?? [])
            let result = try run(
                "sh", ["-c", command.text + " --silent --output /dev/null --noproxy '*'"], input: input)
            #expect(result.status == 0, "\(command.text.prefix(500)) \(result.errors)")
            let received = try #require(peer.requests(0).first)
            let expected = lines(Array(prepared.wireHead.readableBytesView))
            let lines = lines(received.raw)
            #expect(lines.first == expected.first)
            #expect(Set(lines) == Set(expected) && lines.count == expected.count, "\(command.text.prefix(500))")
            #expect(received.body == (body?.array ?? []))
        }
    }

    /// Returns the request line and the field lines, without the space that may follow the colon of an empty field.
    private func lines(_ request: [UInt8]) -> [String] {
        let end = request.firstRange(of: Array("\r\n\r\n".utf8))?.lowerBound ?? request.count
        return String(decoding: request[..<end], as: UTF8.self).split(separator: "\r\n").map { line in
            line.last == " " ? String(line.dropLast()) : String(line)
        }
    }
}
