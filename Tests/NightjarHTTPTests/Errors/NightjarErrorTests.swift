import Testing

@testable import NightjarHTTP

@Suite struct NightjarErrorTests {
    @Test(arguments: ErrorKind.allCases)
    func everyKindHasASentenceForPeopleSaveTheOneTheyCaused(kind: ErrorKind) {
        let message = NightjarError(kind, "what happened").userMessage
        #expect((message == nil) == (kind == .cancelled))
        #expect(message?.hasSuffix(".") ?? true)
        // Only developers know these terms.
        for word in ["HTTP", "JSON", "TLS", "DNS", "URL", "NULL", "connection lost"] {
            #expect(message?.contains(word) != true)
        }
    }

    @Test(arguments: [
        (ErrorKind.offline, true), (.dns, true), (.connect, true), (.timeout, true), (.connectionLost, true),
        (.rateLimited, true), (.tls, false), (.pinMismatch, false), (.protocol, false), (.tooLarge, false),
        (.decoding, false), (.unauthorized, false), (.cancelled, false), (.closed, false), (.invalidRequest, false),
    ])
    func whatThePassageOfTimeMayMendIsRetryable(kind: ErrorKind, isRetryable: Bool) {
        #expect(NightjarError(kind, "x").isRetryable == isRetryable)
    }

    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func someStatusesAreAboutTheMoment(status: Int) throws {
        #expect(try error(status).isRetryable)
    }

    @Test(arguments: [400, 401, 403, 404, 409, 422, 501, 505])
    func othersAreAboutTheRequest(status: Int) throws {
        #expect(try !error(status).isRetryable)
    }

    private func error(_ status: Int) throws -> NightjarError {
        let url = try RequestURL("http://a/")
        let response = Response(head: ResponseHead(status: status), body: .init(), url: url)
        return NightjarError(ErrorKind(unexpectedStatus: status), "x", response: response)
    }

    @Test func anErrorKeepsWhatItKnowsWhenItIsToldWithItsCall() throws {
        let request = try PreparedRequest(
            Request(.get, "http://u:secret@a/x?token=secret"), base: nil, defaults: Headers(), userAgent: nil)
        let error = NightjarError(.timeout, "late", phase: .idle, code: 7, retryAfter: .seconds(3))
            .mayHaveBeenProcessed.of(request, attempts: 2)
        #expect(error.description == "timeout (idle): late [http://a/x?token=***]")
        #expect(error.code == 7 && error.attempts == 2 && error.requestMayHaveBeenProcessed)
        #expect(error.retryAfter == .seconds(3))
        #expect(error.curl()?.contains("secret") == false)
    }

    // MARK: Retry-After

    @Test(arguments: [
        ("120", 120), ("0", 0), ("2592000", 2_592_000), ("Fri, 31 Dec 1999 23:59:59 GMT", 0),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30), ("Wednesday, 21-Oct-15 07:28:30 GMT", 30),
    ])
    func aServerSaysHowLongToWait(value: String, seconds: Int64) throws {
        var headers = Headers()
        try headers.add("Retry-After", value)
        try headers.add("Date", "Wed, 21 Oct 2015 07:28:00 GMT")
        #expect(RetryAfter.duration(headers, now: 0) == .seconds(seconds))
    }

    /// The last four are a number of seconds above 30 days, a time since 1970, a number above 64 bits and a date more
    /// than 30 days ahead. They are treated as server errors, and no call waits for them.
    @Test(arguments: [
        "", "-1", "soon", "1.5", "1 2", "2592001", "1700000000", "99999999999999999999999",
        "Wed, 21 Oct 2099 07:28:30 GMT",
    ])
    func whatIsNoTimeIsNone(value: String) throws {
        var headers = Headers()
        try headers.add("Retry-After", value)
        #expect(RetryAfter.duration(headers, now: 0) == nil)
    }

    @Test func withoutTheServersClockOursCounts() throws {
        var headers = Headers()
        try headers.add("Retry-After", "Wed, 21 Oct 2015 07:28:30 GMT")
        #expect(RetryAfter.duration(headers, now: 1_445_412_500.9) == .seconds(10))
        #expect(RetryAfter.duration(headers, now: .infinity) == .zero)
        #expect(RetryAfter.duration(Headers(), now: 0) == nil)
    }
}
