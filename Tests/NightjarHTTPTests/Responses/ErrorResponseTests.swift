import NIOCore
import Testing

@testable import NightjarHTTP

/// The parts of a response that an error reports: the body and the challenge, without credentials.
@Suite struct ErrorResponseTests {
    private func response(
        _ status: Int, _ body: String, _ fields: [(String, String)] = [], sent: PreparedRequest? = nil
    ) throws -> Response {
        var headers = Headers()
        for (name, value) in fields { try headers.add(name, value) }
        let url = try RequestURL("https://api.example/x")
        return Response(
            head: ResponseHead(status: status, headers: headers), body: ByteBuffer(string: body), url: url, sent: sent)
    }

    private func request(
        _ target: String = "https://api.example/x", _ fields: [(String, String)] = [], form: String? = nil
    ) throws -> PreparedRequest {
        var request = Request(form == nil ? .get : .post, target)
        for (name, value) in fields { try request.headers.add(name, value) }
        if let form {
            request.body = .bytes(ByteBuffer(string: form))
            try request.headers.set("Content-Type", "application/x-www-form-urlencoded")
        }
        return try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
    }

    @Test func plainTextIsTheMessage() throws {
        let type = [("Content-Type", "text/plain; charset=utf-8")]
        #expect(try ErrorBody(response(404, "404 page not found\n", type))?.message == "404 page not found")
        #expect(try ErrorBody(response(400, #"{"message":"no"}"#, type))?.message == "no")
        #expect(try ErrorBody(response(400, "42", type))?.message == "42")
        #expect(try ErrorBody(response(400, "<html>x</html>", type)) == nil)
        #expect(try ErrorBody(response(400, "  \n", type)) == nil)
        #expect(try ErrorBody(response(400, "no", [("Content-Type", "text/html")])) == nil)
        #expect(try ErrorBody(response(400, "no")) == nil)
        let long = try ErrorBody(response(500, String(repeating: "x", count: 5000), type))
        #expect(long?.message?.utf8.count == 1003)
    }

    @Test func errorNamesAreCodes() throws {
        let cases: [(String, [(String, String)], String?, String?)] = [
            (#"{"errcode":"M_FORBIDDEN","error":"Not allowed"}"#, [], "M_FORBIDDEN", "Not allowed"),
            (
                #"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"no table"}"#, [],
                "ResourceNotFoundException", "no table"
            ),
            (#"{"__type":"UnrecognizedClientException","Message":"bad"}"#, [], "UnrecognizedClientException", "bad"),
            (
                #"{"message":"no function"}"#, [("X-Amzn-ErrorType", "ResourceNotFoundException:http://internal/")],
                "ResourceNotFoundException", "no function"
            ),
        ]
        for (body, fields, code, message) in cases {
            let details = try ErrorBody(response(400, body, fields))
            #expect(details?.code == code && details?.message == message, "\(body)")
        }
    }

    @Test func challengeIsReported() throws {
        let bearer = try response(
            401, "",
            [
                (
                    "WWW-Authenticate",
                    #"Bearer realm="example", error="invalid_token", error_description="It expired", scope="a b""#
                )
            ])
        #expect(ErrorBody.challenge(of: bearer) == #"Bearer (realm "example", scope "a b")"#)
        #expect(ErrorBody(bearer)?.summary(excluding: "") == "It expired (invalid_token)")
        let two = try response(
            401, #"{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}"#,
            [
                ("WWW-Authenticate", #"Bearer realm="https://auth.example/token",service="registry""#),
                ("WWW-Authenticate", "Negotiate, Basic realm=x, A, B"),
            ])
        #expect(
            ErrorBody.challenge(of: two)
                == #"Bearer (realm "https://auth.example/token", service "registry"), Negotiate, Basic (realm "x"), ..."#
        )
        #expect(ErrorBody(two)?.summary(excluding: "") == "authentication required (UNAUTHORIZED)")
        // The body is more specific than the challenge.
        let said = try response(
            401, #"{"message":"no"}"#, [("WWW-Authenticate", #"Bearer error="invalid_token", error_description="x""#)])
        #expect(ErrorBody(said)?.summary(excluding: "") == "no (invalid_token)")
        #expect(try ErrorBody.challenge(of: response(401, "")) == nil)
        #expect(try ErrorBody.challenge(of: response(404, "", [("WWW-Authenticate", "Basic realm=x")])) == nil)
        #expect(
            try ErrorBody.challenge(
                of: response(403, "", [("WWW-Authenticate", #"Bearer error="insufficient_scope", scope="admin""#)]))
                == #"Bearer (scope "admin")"#)
        // Terminal control sequences from the server are escaped.
        let wild = try response(401, "", [("WWW-Authenticate", "Basic realm=\"a\u{9B}b\u{202E}c\"")])
        #expect(ErrorBody.challenge(of: wild) == #"Basic (realm "a\u{9b}b\u{202e}c")"#)
    }

    @Test func credentialsRepeatedByTheServerAreMasked() throws {
        let sent = try request(
            "https://api.example/x?api_key=abcdef%2B123456&page=12345678",
            [
                ("Authorization", "Bearer sk-live-12345"), ("X-Api-Key", "k3y-99999"),
                ("Cookie", "session=abcdefghij; a=1"),
            ])
        let body =
            #"{"message":"Incorrect API key: sk-live-12345 or k3y-99999","detail":"abcdefghij, abcdef+123456, 12345678 a=1","#
            + #""errors":[{"field":"sk-live-12345","message":"Bearer sk-live-12345"}]}"#
        let details = try ErrorBody(response(401, body, sent: sent))
        #expect(details?.message == "Incorrect API key: *** or ***")
        #expect(details?.detail == "***, ***, 12345678 a=1")
        #expect(details?.fields == [.init("***", "***")])
        let basic = try request("https://api.example/x", [("Authorization", "Basic dXNlcjpodW50ZXIy")])
        #expect(
            try ErrorBody(response(401, #"<e><Message>hunter2 is wrong for user</Message></e>"#, sent: basic))?.message
                == "*** is wrong for user")
        let socket = try request(
            "https://api.example/x", [("Sec-WebSocket-Protocol", "v1, bearer, t0ken-1, openai-insecure-api-key.k3y-2")])
        let message = #"{"message":"v1: t0ken-1 or k3y-2 is wrong for bearer"}"#
        #expect(try ErrorBody(response(401, message, sent: socket))?.message == "v1: *** or *** is wrong for bearer")
        let form = try request("https://api.example/token", form: "grant_type=x&client_secret=a+b%21c-long&code=1")
        #expect(
            try ErrorBody(response(400, #"{"error":"bad secret a b!c-long"}"#, sent: form))?.message == "bad secret ***"
        )
        let realm = try response(401, "", [("WWW-Authenticate", "Basic realm=\"for k3y-99999\"")], sent: sent)
        #expect(ErrorBody.challenge(of: realm) == #"Basic (realm "for ***")"#)
    }
}
