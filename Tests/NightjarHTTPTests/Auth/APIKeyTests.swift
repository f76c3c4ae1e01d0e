import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct APIKeyTests {
    private func prepared(_ target: String = "http://a.test/x?b=c", sensitive: [String] = []) throws -> PreparedRequest
    {
        try PreparedRequest(
            Request(.get, target),
            RequestTemplate(base: nil, defaults: Headers(), userAgent: nil, sensitive: sensitive))
    }

    @Test func keyIsSentInAHeaderField() throws {
        let key = try APIKey("k3y", in: .header("X-Custom"), prefix: "Token ")
        let request = try key.attached(to: try prepared())
        #expect(request.fields["x-custom"] == "Token k3y")
        // A request that already has a key is not changed.
        #expect(try key.attached(to: request) === request)
        #expect(!CurlCommand(RequestRecord(request)).text.contains("k3y"))
    }

    @Test func keyIsSentInTheQuery() throws {
        let key = try APIKey("k3y&=\u{e4}", in: .query("my id"))
        let request = try key.attached(to: try prepared())
        #expect(request.url.target == "/x?b=c&my%20id=k3y%26%3D%C3%A4")
        let start = "GET /x?b=c&my%20id=k3y%26%3D%C3%A4 HTTP/1.1\r\nHost: a.test\r\n"
        #expect(String(buffer: request.wireHead).hasPrefix(start))
        #expect(try key.attached(to: request) === request)
        #expect(try key.attached(to: try prepared("http://a.test/x")).url.target.hasPrefix("/x?my%20id="))
        let own = try prepared("http://a.test/x?my+id=own")
        #expect(try key.attached(to: own) === own)
    }

    @Test(arguments: [APIKey.Place.query("subscription"), .query("my[Id]"), .header("X-Custom")])
    func keyIsMaskedInAllTexts(place: APIKey.Place) throws {
        let key = try APIKey("k3y", in: place)
        let request = try key.attached(to: try prepared())
        let record = RequestRecord(request)
        var text = "\(key) \(request.url) \(CurlCommand(record).text) "
        text += NightjarError(.timeout, "late").of(request, attempts: 1).description
        dump(key, to: &text)
        dump(request.url, to: &text)
        text += archive(record, ResponseHead(status: 200))
        #expect(!text.contains("k3y"), "\(text)")
        #expect(CurlCommand(record, showsSecrets: true).text.contains("k3y"))
    }

    @Test func keyRepeatedByTheServerIsMasked() throws {
        let request = try APIKey("k3y", in: .query("subscription")).attached(to: try prepared())
        var fields = Headers()
        try fields.add("Location", "/y?subscription=k3y")
        let head = ResponseHead(status: 302, headers: fields)
        var policy = RedirectPolicy(RedirectSettings())
        let proposed = try policy.received(head, to: .get, at: request.url, bodyIsReplayable: true)
        #expect(!"\(proposed) \(archive(RequestRecord(request), head))".contains("k3y"))
        #expect("\(proposed)".contains("/y?subscription=***"))
    }

    private func archive(_ record: RequestRecord, _ head: ResponseHead, _ writer: HARWriter = HARWriter()) -> String {
        var writer = writer
        var archive = writer.begin(version: "1")
        let response = HAREntry.Response(head: head, body: nil)
        archive.writeImmutableBuffer(
            writer.entry(HAREntry(started: 0, request: record, response: response, total: .zero)))
        return String(buffer: archive)
    }

    @Test func keysOfOtherNamesAreMasked() throws {
        let record = RequestRecord(try prepared("http://a.test/?subscription=k3y"))
        #expect(CurlCommand(record).text.contains("k3y"))
        #expect(!CurlCommand(record, sensitive: ["subscription"]).text.contains("k3y"))
        let sensitive = HARWriter(sensitive: ["Subscription"])
        #expect(!archive(record, ResponseHead(status: 200), sensitive).contains("k3y"))
    }

    /// A parameter with the name of the key is masked, even if the caller has set it.
    @Test func sensitiveNameIsMaskedFromTheStart() throws {
        let key = try APIKey("k3y", in: .query("subscription"))
        let request = try prepared("http://a.test/?Subscription=own", sensitive: [key.sensitiveName])
        #expect(request.url.redacted == "http://a.test/?Subscription=***")
        #expect(try request.url.joined("/y?subscription=own").redacted == "http://a.test/y?subscription=***")
        #expect(request.url == (try RequestURL("http://a.test/?Subscription=own")))
    }

    @Test func invalidKeyIsRejectedAndNotShown() throws {
        let places: [(String, APIKey.Place, String)] = [
            ("", .query("k"), ""), ("s3cret\n", .header("X-Key"), ""), ("s3cret ", .header("X-Key"), ""),
            ("s3cret", .header("X Key"), ""), ("s3cret", .header("Content-Length"), ""), ("s3cret", .query(""), ""),
            ("s3cret", .query("k"), "Token "), ("s3cr\u{e4}t", .header("X-Key"), ""),
        ]
        for (value, place, prefix) in places {
            let error = #expect(throws: NightjarError.self) { try APIKey(value, in: place, prefix: prefix) }
            #expect(error?.kind == .invalidArgument && error?.message.contains("s3cr") == false)
        }
    }
}
