import NIOCore
import Testing

@testable import NightjarHTTP

@Suite struct AbsoluteFormTests {
    private func head(_ proxy: String) throws -> String {
        let request = Request(.post, "http://[::1]:8080/a?b=c")
        let prepared = try PreparedRequest(request, base: nil, defaults: Headers(), userAgent: nil)
        return String(buffer: prepared.wireHead(through: try ProxyAddress(proxy)))
    }

    @Test func requestLineHasTheCompleteURL() throws {
        #expect(
            try head("proxy")
                == "POST http://[::1]:8080/a?b=c HTTP/1.1\r\nHost: [::1]:8080\r\nContent-Length: 0\r\n\r\n")
    }

    @Test func credentialsOfTheProxyAreSent() throws {
        #expect(
            try head("u:p@proxy") == "POST http://[::1]:8080/a?b=c HTTP/1.1\r\nHost: [::1]:8080\r\n"
                + "Content-Length: 0\r\nProxy-Authorization: Basic dTpw\r\n\r\n")
    }
}
