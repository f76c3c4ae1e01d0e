import Testing

@testable import NightjarHTTP

/// Requests are compared by Unicode scalars, because Swift treats canonically equivalent strings as equal.
@Suite struct ExactRequestTests {
    private let one = "caf\u{e9}"
    private let other = "cafe\u{301}"

    @Test func canonicallyEquivalentRequestsDiffer() throws {
        func request(_ value: String) -> Request {
            var request = Request(.get, "/a")
            request.query = [("q", value)]
            return request
        }
        #expect(RepeatedRequest(request(one)).isSame(as: request(one)))
        #expect(!RepeatedRequest(request(one)).isSame(as: request(other)))
        #expect(!RepeatedRequest(Request(.get, "/" + one)).isSame(as: Request(.get, "/" + other)))
        #expect(try UnixSocket("/run/" + one) != UnixSocket("/run/" + other))
    }
}
