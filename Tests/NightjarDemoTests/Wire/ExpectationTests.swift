import NightjarDemo
import NightjarTestSupport
import Testing

/// The different ways a server can handle `Expect: 100-continue`.
@Suite struct ExpectationTests {
    let demo: Demo

    init() throws { demo = try Demo() }

    private let expecting = ["-H", "Expect: 100-continue", "--expect100-timeout", "5", "-d", "hello"]

    @Test func continueIsSent() throws {
        let response = try demo.curl("/expect", expecting)
        #expect(response.interim == [100])
        #expect(try response.json["expected"] as? Bool == true)
        #expect(try response.json["bytes"] as? Int == 5)
        let plain = try demo.curl("/expect", ["-d", "hello"])
        #expect(plain.interim == [])
        #expect(try plain.json["expected"] as? Bool == false)
    }

    @Test func continueIsSentLate() throws {
        let start = ContinuousClock.now
        #expect(try demo.curl("/expect?delay=0.2", expecting).interim == [100])
        #expect(ContinuousClock.now - start >= .milliseconds(200))
    }

    @Test func bodyWithoutWaitingReceivesNoContinue() throws {
        let client = try demo.connect()
        try client.send(
            "POST /expect?delay=0.2 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        )
        let response = Bytes(try client.receiveToEnd()).text
        #expect(response.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(!response.contains("100 Continue"))
    }

    @Test func expectIsIgnored() throws {
        let response = try demo.curl(
            "/expect?response=ignore", ["-H", "Expect: 100-continue", "--expect100-timeout", "0.1", "-d", "hello"])
        #expect(response.interim == [])
        #expect(try response.json["bytes"] as? Int == 5)
    }

    @Test(arguments: [200, 401, 413, 417, 500])
    func responseIsSentBeforeTheBody(status: Int) throws {
        let client = try demo.connect()
        try client.send(
            "POST /expect?response=\(Bytes(String(status).utf8).text) HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n"
        )
        let head = Bytes(try client.receive(through: "\r\n\r\n")).text
        #expect(head.hasPrefix("HTTP/1.1 \(status) "))
        #expect(head.contains("Connection: close\r\n"))
    }

    @Test func curlRepeatsWithoutTheExpectation() throws {
        let response = try demo.curl("/expect?response=417", expecting)
        #expect(response.status == 417)
        #expect(try demo.curl("/expect?response=maybe", expecting).status == 400)
    }

    @Test func disconnectedClientIsForgotten() throws {
        let client = try demo.connect()
        try client.send(
            "POST /expect?delay=30 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        try eventually("the request arrived") { demo.server.statistics.requestCount == 1 }
        client.reset()
        try eventually("the connection ended") { demo.server.statistics.connectionsOpen == 0 }
    }
}
