import Testing

@testable import NightjarHTTP

/// Errors that contain the request or the response of a call.
@Suite struct NightjarErrorCallTests {
    @Test(arguments: [408, 425, 429, 500, 502, 503, 504])
    func temporaryStatusesAreRetryable(status: Int) throws {
        #expect(try error(status).isRetryable)
    }

    @Test(arguments: [400, 401, 403, 404, 409, 422, 501, 505])
    func otherStatusesAreNotRetryable(status: Int) throws {
        #expect(try !error(status).isRetryable)
    }

    private func error(_ status: Int) throws -> NightjarError {
        let url = try RequestURL("http://a/")
        let response = Response(head: ResponseHead(status: status), body: .init(), url: url)
        return NightjarError(ErrorKind(unexpectedStatus: status), "x", response: response)
    }

    @Test func callIsAddedToAnError() throws {
        let request = try PreparedRequest(
            Request(.get, "http://u:secret@a/x?token=secret"), base: nil, defaults: Headers(), userAgent: nil)
        let error = NightjarError(.timeout, "late", phase: .idle, code: 7, retryAfter: .seconds(3))
            .mayHaveBeenProcessed.of(request, attempts: 2)
        #expect(error.description == "timeout (idle): late [http://a/x?token=***]")
        #expect(error.code == 7 && error.attempts == 2 && error.requestMayHaveBeenProcessed)
        #expect(error.retryAfter == .seconds(3))
        #expect(error.curl()?.contains("secret") == false)
    }
}
