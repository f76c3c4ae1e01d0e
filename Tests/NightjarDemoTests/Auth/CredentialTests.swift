import Foundation
import NightjarDemo
import NightjarTestSupport
import Testing

/// Basic, Digest and API keys.
@Suite struct CredentialTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    @Test func basicCredentialsAreChecked() throws {
        let rejected = try demo.curl("/v1/basic")
        #expect(rejected.status == 401)
        #expect(rejected["WWW-Authenticate"] == #"Basic realm="demo", charset="UTF-8""#)
        #expect(try demo.curl("/v1/basic", ["-u", "demo:secret"]).json["user"] as? String == "demo")
        #expect(try demo.curl("/v1/basic", ["-u", "demo:secret", "-d", "abc"]).json["body_bytes"] as? Int == 3)
        for wrong in ["Basic ZGVtbzpzZWNyZXRz", "Basic !", "Basic", "Basic ZGVtbw==", "Bearer ZGVtbzpzZWNyZXQ="] {
            #expect(try demo.curl("/v1/basic", ["-H", "Authorization: \(wrong)"]).status == 401)
        }
    }

    @Test func apiKeysAreChecked() throws {
        #expect(try demo.curl("/v1/api-key?api_key=demo-key").json["in"] as? String == "query")
        #expect(try demo.curl("/v1/api-key", ["-H", "X-Api-Key: demo-key"]).json["in"] as? String == "header")
        #expect(try demo.curl("/v1/api-key").status == 401)
        #expect(try demo.curl("/v1/api-key?api_key=demo-key", ["-H", "X-Api-Key: other"]).status == 401)
    }

    @Test func signaturesAreChecked() throws {
        func command(_ text: String) throws -> String {
            let shell = Process()
            shell.executableURL = URL(filePath: "/bin/sh")
            shell.arguments = ["-c", text]
            let output = Pipe()
            shell.standardOutput = output
            try shell.run()
            let bytes = output.fileHandleForReading.readDataToEndOfFile()
            shell.waitUntilExit()
            return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let now = Int(Date.now.timeIntervalSince1970)
        let body = try command("printf abc | sha256sum | cut -d ' ' -f 1")
        func signature(_ time: Int) throws -> String {
            try command(
                #"printf 'POST\n/signed?a=b\n\#(time)\n\#(body)' | openssl dgst -sha256 -hmac demo-signing-secret -r "#
                    + "| cut -d ' ' -f 1")
        }
        func status(_ time: Int, _ signature: String, _ content: String) throws -> Int {
            try demo.curl(
                "/signed?a=b", ["-H", "X-Timestamp: \(time)", "-H", "X-Signature: \(signature)", "-d", content]
            ).status
        }
        #expect(try status(now, signature(now), "abc") == 200)
        #expect(try status(now, signature(now), "abd") == 401)
        #expect(try status(now + 1, signature(now), "abc") == 401)
        #expect(try status(now - 1000, signature(now - 1000), "abc") == 401)
        #expect(try demo.curl("/signed").status == 401)
    }

    // MARK: Digest

    private func digest(_ query: String, password: String = "secret", _ arguments: [String] = []) throws -> CurlResponse
    {
        try demo.last("/v1/digest\(query)", ["--digest", "-u", "demo:\(password)"] + arguments)
    }

    @Test(arguments: [
        ("", "SHA-256"), ("?algorithm=SHA-256", "SHA-256"), ("?algorithm=MD5", "MD5"),
        ("?algorithm=SHA-256-sess", "SHA-256-sess"), ("?algorithm=MD5-sess", "MD5-sess"),
        ("?algorithm=both", "SHA-256"),
    ])
    func curlAuthenticatesWithDigest(query: String, algorithm: String) throws {
        let reply = try digest(query)
        #expect(reply.status == 200, "\(reply.text)")
        #expect(try reply.json["algorithm"] as? String == algorithm)
        #expect(reply["Authentication-Info"]?.contains("rspauth=") == true)
        #expect(reply["Authentication-Info"]?.contains("nextnonce=") == false)
        #expect(try digest(query, password: "other").status == 401)
    }

    @Test func postIsChallengedBeforeItsBodyIsRead() throws {
        let reply = try digest("?next=1", ["-d", "abcd"])
        #expect(try reply.json["body_bytes"] as? Int == 4)
        #expect(reply["Authentication-Info"]?.contains("nextnonce=") == true)
        #expect(demo.server.statistics.requests["POST /v1/digest"] == 2)
    }

    @Test func bothAlgorithmsAreOffered() throws {
        let challenges = try demo.curl("/v1/digest?algorithm=both").headers.filter { $0.name == "WWW-Authenticate" }
        #expect(challenges.map { $0.value.contains("algorithm=SHA-256") } == [true, false])
        #expect(challenges.map { $0.value.contains("algorithm=MD5") } == [false, true])
        #expect(try demo.curl("/v1/digest?algorithm=SHA-1").status == 400)
    }

    /// Computes the hash of a Digest response with another program.
    private func hash(_ text: String) throws -> String {
        String(try run("sha256sum", [], input: Bytes(text.utf8)).text.prefix(64))
    }

    private func secret() throws -> String { try hash("demo:demo:secret") }

    private func nonce(of reply: CurlResponse, in field: String = "WWW-Authenticate") throws -> String {
        let value = try #require(reply[field])
        return try String(#require(value.firstMatch(of: /[ ](?:next)?nonce="([^"]+)"/)).1)
    }

    /// Sends a Digest request with this nonce and nonce count.
    private func send(_ nonce: String, count: Int, _ query: String, uri: String? = nil) throws -> CurlResponse {
        let uri = uri ?? "/v1/digest\(query)"
        let nc = String(repeating: "0", count: 7) + String(count, radix: 16)
        let response = try hash("\(secret()):\(nonce):\(nc):cn:auth:\(hash("GET:\(uri)"))")
        let field = """
            Digest username="demo", realm="demo", nonce="\(nonce)", uri="\(uri)", algorithm=SHA-256, qop=auth, \
            nc=\(nc), cnonce="cn", response="\(response)", opaque="bmlnaHRqYXI"
            """
        return try demo.curl("/v1/digest\(query)", ["-H", "Authorization: \(field)"])
    }

    @Test func serverSendsItsDigestProof() throws {
        let nonce = try nonce(of: demo.curl("/v1/digest"))
        let reply = try send(nonce, count: 1, "")
        let proof = try hash("\(secret()):\(nonce):00000001:cn:auth:\(hash(":/v1/digest"))")
        #expect(
            reply["Authentication-Info"] == #"qop=auth, rspauth="\#(proof)", cnonce="cn", nc=00000001"#)
    }

    @Test func nonceCountIsAcceptedOnce() throws {
        let nonce = try nonce(of: demo.curl("/v1/digest"))
        #expect(try send(nonce, count: 2, "").status == 200)
        #expect(try send(nonce, count: 1, "").status == 200)
        let replayed = try send(nonce, count: 2, "")
        #expect(replayed.status == 401)
        #expect(replayed["WWW-Authenticate"]?.contains("stale") == false)
        #expect(try send(nonce, count: 3, "", uri: "/v1/digest?other").status == 401)
    }

    @Test func nonceExpires() throws {
        let query = "?uses=2&next=1"
        let first = try nonce(of: demo.curl("/v1/digest\(query)"))
        let reply = try send(first, count: 1, query)
        #expect(try send(first, count: 2, query).status == 200)
        let rejected = try send(first, count: 3, query)
        #expect(rejected.status == 401)
        #expect(rejected["WWW-Authenticate"]?.hasSuffix("stale=true") == true)
        #expect(try send(nonce(of: rejected), count: 1, query).status == 200)
        #expect(try send(nonce(of: reply, in: "Authentication-Info"), count: 1, query).status == 200)
        #expect(try send("unknown", count: 1, query)["WWW-Authenticate"]?.hasSuffix("stale=true") == true)
    }
}
