import NightjarDemo
import NightjarTestSupport
import Testing

/// The behavior of the server on the wire, tested with a plain socket.
@Suite struct ConnectionTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private func talk(_ request: Bytes) throws -> String {
        let client = try demo.connect()
        try client.send(request)
        client.shutdownOutput()
        return Bytes(try client.receiveToEnd()).text
    }

    @Test func connectionIsReusedAndResponsesAreInOrder() throws {
        let client = try demo.connect()
        try client.send(
            """
            GET /status/204 HTTP/1.1\r\nHost: x\r\n\r\n\
            POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi\
            GET /close HTTP/1.1\r\nHost: x\r\n\r\n\
            GET /echo HTTP/1.1\r\nHost: x\r\n\r\n
            """)
        let responses = Bytes(try client.receiveToEnd()).text
        #expect(responses.hasPrefix("HTTP/1.1 204 No Content\r\n"))
        #expect(responses.contains(#""request_on_connection":2}"#))
        #expect(responses.hasSuffix(#"{"connection":1}"#))
        #expect(demo.server.statistics.requestCount == 3)
        #expect(demo.server.statistics.connectionsOpened == 1)
    }

    @Test func connectionCloseIsRespected() throws {
        let client = try demo.connect()
        try client.send("GET /status/204 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(Bytes(try client.receiveToEnd()).text.contains("Connection: close\r\n"))
    }

    @Test func http10IsSupported() throws {
        let client = try demo.connect()
        try client.send("GET /stream/3 HTTP/1.0\r\n\r\n")
        let response = try client.receiveToEnd()
        #expect(Bytes(response).text.hasPrefix("HTTP/1.0 200 OK\r\n"))
        #expect(!Bytes(response).text.lowercased().contains("transfer-encoding"))
        #expect(response.suffix(3).elementsEqual((0..<3).map(DemoContent.byte(at:))))
        let kept = try demo.connect()
        try kept.send("GET /status/204 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        #expect(Bytes(try kept.receive(through: "\r\n\r\n")).text.contains("Connection: keep-alive\r\n"))
        try kept.send("GET /status/204 HTTP/1.0\r\n\r\n")
        #expect(Bytes(try kept.receiveToEnd()).text.contains("Connection: close\r\n"))
    }

    @Test(arguments: [
        "GARBAGE\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", "GET /%fg HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n",
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ])
    func badRequestIsAProblemDocument(request: String) throws {
        let client = try demo.connect()
        try client.send(Bytes(request.utf8))
        let head = Bytes(try client.receive(through: "\r\n\r\n")).text
        #expect(head.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        #expect(head.contains("Content-Type: application/problem+json\r\n"))
        #expect(demo.server.statistics.statuses == [400: 1])
    }

    @Test func absoluteAndAsteriskFormsAreAccepted() throws {
        let client = try demo.connect()
        try client.send("GET http://x:1/status/204?a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(Bytes(try client.receive(through: "\r\n\r\n")).text.hasPrefix("HTTP/1.1 204"))
        try client.send("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(Bytes(try client.receive(through: "\r\n\r\n")).text.hasPrefix("HTTP/1.1 204"))
    }

    // MARK: Bodies

    @Test func expectedBodyReceives100Continue() throws {
        let client = try demo.connect()
        try client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        #expect(Bytes(try client.receive(through: "\r\n\r\n")) == "HTTP/1.1 100 Continue\r\n\r\n")
        try client.send("hi")
        #expect(Bytes(try client.receive(through: "\r\n\r\n")).text.hasPrefix("HTTP/1.1 200 OK\r\n"))
    }

    @Test func unexpectedBodyIsRejectedBeforeItIsSent() throws {
        let client = try demo.connect()
        try client.send("PUT /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
        let response = Bytes(try client.receiveToEnd()).text
        #expect(response.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(response.contains("Connection: close\r\n"))
    }

    @Test(arguments: ["Content-Length: 1048577", "Transfer-Encoding: chunked"])
    func tooLargeBodyIsRejected(framing: String) throws {
        let client = try demo.connect()
        try client.send("POST /v1/users HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\(framing)\r\n\r\n")
        let body = Bytes([UInt8](repeating: 0x20, count: 1_048_577))
        // The response arrives although the client did not read while it was sending.
        try client.send(framing.hasPrefix("C") ? body : "100001\r\n" + body)
        client.shutdownOutput()
        let response = Bytes(try client.receiveToEnd()).text
        #expect(response.hasPrefix("HTTP/1.1 413 Payload Too Large\r\n"))
        #expect(response.contains("Content-Type: application/problem+json\r\n"))
        #expect(response.contains("Connection: close\r\n"))
    }

    @Test func smallUnreadBodyKeepsTheConnection() throws {
        let client = try demo.connect()
        for _ in 0..<2 {
            try client.send("POST /nothing HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello")
            let head = Bytes(try client.receive(through: "\r\n\r\n")).text
            #expect(head.hasPrefix("HTTP/1.1 404"))
            #expect(!head.contains("Connection"))
            _ = try client.receive(through: "}")
        }
        #expect(demo.server.statistics.connectionsOpened == 1)
    }

    @Test func longUnreadBodyClosesTheConnection() throws {
        let client = try demo.connect()
        try client.send("POST /nothing HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        let chunk = "8000\r\n" + Bytes([UInt8](repeating: 0x20, count: 0x8000)) + "\r\n"
        for _ in 0..<3 { try client.send(chunk) }
        let response = Bytes(try client.receiveToEnd()).text
        #expect(response.hasPrefix("HTTP/1.1 404 Not Found\r\n"))
        #expect(response.contains("Connection: close\r\n"))
    }

    @Test func disconnectedClientEndsItsExchange() throws {
        for target in ["/delay/60", "/drip?bytes=1000", "/stream/1000?chunk=1&delay=60"] {
            let client = try demo.connect()
            try client.send("GET \(Bytes(target.utf8).text) HTTP/1.1\r\nHost: x\r\n\r\n")
            try eventually("the request arrived") { demo.server.statistics.exchanges.last?.target == target }
            client.close()
            try eventually("the server closed the connection") { demo.server.statistics.connectionsOpen == 0 }
        }
    }
}
