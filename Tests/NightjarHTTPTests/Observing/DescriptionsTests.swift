import NIOCore
import Testing

@testable import NightjarHTTP

/// The output of print and dump for values that contain credentials.
@Suite struct DescriptionsTests {
    private func shown(_ value: Any) -> String {
        var text = "\(value) \(String(reflecting: value)) "
        dump(value, to: &text)
        return text
    }

    @Test func descriptionsContainNoSecrets() throws {
        var request = Request(.post, "http://user:hunter2@h/login?access_token=hunter2&page=1")
        request.query = [("token", "hunter2")]
        try request.headers.add("Authorization", "Bearer hunter2")
        try request.headers.add("Cookie", "session=hunter2")
        try request.headers.add("Accept", "text/html")
        request.body = .bytes(ByteBuffer(string: "password=hunter2"))
        let prepared = try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
        let response = Response(
            head: ResponseHead(status: 401, headers: request.headers), body: ByteBuffer(), url: prepared.url)
        let error = NightjarError(.unauthorized, "401", response: response).of(prepared, attempts: 1)
        for value in [request, request.headers, prepared, prepared.url, response, response.head, error] as [Any] {
            #expect(!shown(value).contains("hunter2"), "\(type(of: value))")
        }
        #expect(request.headers.description == "[Authorization: Bearer ***, Cookie: session=***, Accept: text/html]")
        #expect(prepared.description == "POST http://h/login?access_token=***&page=1&token=***")
        #expect(shown(request).contains("/login"))
    }
}
