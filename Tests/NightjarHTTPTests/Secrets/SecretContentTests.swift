import NIOCore
import Testing

@testable import NightjarHTTP

/// Secrets are masked in bodies, in queries and in messages.
@Suite struct SecretContentTests {
    private static let multipart =
        "--b\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nada\r\n"
        + "--b\r\nContent-Disposition: form-data; filename=\"a;b\"; name=\"password\"\r\n\r\ns3cret-0\r\n"
        + "--b\r\ncontent-disposition: form-data; name=data\r\nContent-Type: application/json\r\n\r\n{\"pin_code\":1,\"otp\":\"s3cret-0\"}\r\n"
        + "--b--\r\n"

    private func masked(_ text: String, _ type: String?) -> String { Masking.content(text, type: type) }

    @Test func partsOfMultipartContentAreMasked() {
        for type in ["multipart/form-data; boundary=b", "multipart/form-data; boundary=\"b\"", nil] {
            let text = masked(Self.multipart, type)
            #expect(!text.contains("s3cret"), "\(text)")
            #expect(text.contains("\r\n\r\nada\r\n") && text.hasSuffix("\r\n--b--\r\n"))
        }
        // The content is truncated, as in an archive.
        #expect(!masked(String(Self.multipart.prefix(130)), "multipart/form-data; boundary=b").contains("s3c"))
    }

    /// Some parsers accept a line that only begins with the delimiter (RFC 2046 section 5.1.1), others do not. A secret
    /// part therefore ends only at a complete delimiter line.
    @Test func secretPartEndsAtTheStrictestDelimiter() {
        let type = "multipart/form-data; boundary=b"
        let secret = "--b\r\nContent-Disposition: form-data; name=\"otp\"\r\n\r\n--b s3cret-0\r\n--b s3cret-1\r\n"
        let next = "--b \t\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nada\r\n--b--\r\n"
        let text = masked(secret + next, type)
        #expect(!text.contains("s3cret"), "\(text)")
        #expect(text.hasSuffix(next))
        for line in ["--b hi", "--b--", "--b-- hi", "--b--hi"] {
            let inside = "--b\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\n\(line)\r\n"
            #expect(!masked(inside + secret.dropFirst("--b\r\n".count) + next, type).contains("s3cret"))
            #expect(!masked(inside + secret + next, type).contains("s3cret"))
        }
    }

    @Test func textOutsideOfPartsIsMasked() {
        let type = "multipart/form-data; boundary=b"
        for text in [
            #"{"password":"s3cret-0"}"#, "{\"password\":\"s3cret-0\"}\r\n--b--\r\n",
            "--b {\"password\":\"s3cret-0\"}\r\n--b--",
        ] {
            #expect(!masked(text, type).contains("s3cret"), "\(masked(text, type))")
        }
    }

    @Test func xmlIsMasked() {
        let text =
            "<?xml version='1.0'?><e:Envelope><wsse:Password Type=\"#Text\">s3cret-0</wsse:Password><User>ada</User>"
            + "<entry key=\"apiKey\">s3cret-0</entry><add name=\"db_password\" value='s3cret-0'/><c token=s3cret-0 />"
            + "<client_secret><![CDATA[s3cret-0]]></client_secret></e:Envelope>"
        for type in ["application/soap+xml", "text/xml; charset=utf-8", nil] {
            let shown = masked(text, type)
            #expect(!shown.contains("s3cret"), "\(shown)")
            #expect(shown.contains("<User>ada</User>") && shown.contains("Type=\"#Text\""))
        }
    }

    @Test func jsonIsMaskedForAnyType() {
        let text =
            #"{"pass\u0077ord":"s3cret-0","passwordConfirmation":"s3cret-0","user_token_v2":"s3cret-0","n":"ada"}"#
        for type in ["application/json", "text/plain", "application/x-ndjson", "application/octet-stream", nil] {
            let shown = masked(text + "\n" + text, type)
            #expect(!shown.contains("s3cret"), "\(shown)")
            #expect(shown.contains(#""n":"ada""#))
        }
        let nested = #"{"body":"{\"sessionKey\":\"s3cret-0\"}","n":1}"#
        #expect(!masked(nested, "application/json").contains("s3cret"))
        #expect(masked("say \"hi\n" + text, "text/plain").contains("s3cret") == false)
    }

    @Test func formsAreMasked() {
        #expect(masked("a=1&otp=s3cret-0&pass%77ord=s3cret-0", nil) == "a=1&otp=***&pass%77ord=***")
        let form = "application/x-www-form-urlencoded"
        #expect(!masked("payload=%7B%22token%22%3A%22s3cret-0%22%7D", form).contains("s3cret"))
        #expect(masked("q=1+2&empty=&x", form) == "q=1+2&empty=&x")
    }

    @Test func tokensAreMaskedByTheirShape() {
        let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"
        #expect(masked("you are \(token).", "text/plain") == "you are ***.")
        #expect(Masking.url("http://a/?x=\(token)&y=1") == "http://a/?x=***&y=1")
    }

    @Test func queriesAreMasked() throws {
        for name in ["sessionKey", "user_token_v2", "otp", "sig", "passwordConfirmation"] {
            let url = try RequestURL("https://a/p;\(name)=s3cret-0?b=1&\(name)=s3cret-0;\(name)=s3cret-0")
            #expect(!url.redacted.contains("s3cret"), "\(url.redacted)")
        }
        let nested = try RequestURL(
            "https://a/?next=http%3A%2F%2Fb%2F%3Ftoken%3Ds3cret-0&to=http%3A%2F%2Fu%3As3cret-0%40b")
        #expect(nested.redacted == "https://a/?next=***&to=***")
        #expect(try RequestURL("https://a/?page=2&q=a%26b").redacted == "https://a/?page=2&q=a%26b")
    }

    @Test(arguments: [
        "HTTPS://user:s3cret-0@h/", "postgres://u:s3cret-0@h/db", "see wss://h/x?api_key=s3cret-0, please",
        "Authorization: Bearer s3cret-0", "bearer s3cret-0", "password=s3cret-0", "x=1,password=s3cret-0",
        "password: \"s3cret-0 and more\"", "{\"token\": \"s3cret-0\"}", "api_key = s3cret-0", "token='s3cret-0'",
        "secret = 's3cret-0'", "(X-JWT: s3cret-0)", "curl -u x: http://h/?a=b&sig=s3cret-0#f",
    ])
    func messagesAreMasked(text: String) {
        #expect(!Masking.text(text).contains("s3cret"), "\(Masking.text(text))")
    }

    @Test(arguments: [
        "GET http://h/a?page=2 200 in 3 ms", "the token: it has expired", "copied 3 files, 10:31:07", "a=b; c = d",
        "Bearer authentication is wanted", "key=value", "max_tokens=12",
    ])
    func otherMessagesAreUnchanged(text: String) { #expect(Masking.text(text) == text) }

    @Test func archivesContainNoSecretsOfBodies() throws {
        var request = Request(.post, "http://x/?sessionKey=s3cret-0")
        try request.headers.add("Content-Type", "multipart/form-data; boundary=b")
        try request.headers.add("X-JWT", "s3cret-0")
        request.body = .bytes(ByteBuffer(bytes: Array(Self.multipart.utf8) + [0xFF]))
        let record = RequestRecord(try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil))
        var writer = HARWriter()
        let text = String(
            buffer: writer.entry(HAREntry(started: 0, request: record, response: nil, total: .seconds(1))))
        #expect(!text.contains("s3cret") && !text.contains(Base64.encode("s3cret-0".utf8).prefix(8)))
        #expect(!CurlCommand(record).text.contains("s3cret"))
    }
}
