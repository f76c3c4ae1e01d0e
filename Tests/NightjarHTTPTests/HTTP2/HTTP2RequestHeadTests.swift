import Testing

@testable import NightjarHTTP

@Suite struct HTTP2RequestHeadTests {
    private func parts(of text: String) -> (pseudo: [String], fields: [String]) {
        let bytes = Array(text.utf8)
        var head = HTTP2RequestHead()
        return bytes.withUnsafeBytes { bytes in
            // A value is used for several requests.
            head.read(UnsafeRawBufferPointer(rebasing: bytes[..<0]))
            head.read(bytes)
            func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
            return (
                [text(head.method), text(head.path), text(head.authority)],
                head.fields.map { "\(text($0.name))=\(text($0.value))" }
            )
        }
    }

    @Test func partsAreFound() {
        let (pseudo, fields) = parts(of: "GET /a?b=c HTTP/1.1\r\nHost: example.com:81\r\nAccept: */*\r\nX-Y:z \r\n\r\n")
        #expect(pseudo == ["GET", "/a?b=c", "example.com:81"])
        #expect(fields == ["Accept=*/*", "X-Y=z"])
    }

    @Test func fieldsOfTheConnectionAreRemoved() {
        let (pseudo, fields) = parts(
            of: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: Upgrade\r\n"
                + "Upgrade: websocket\r\nKeep-Alive: 1\r\nProxy-Connection: close\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n"
        )
        #expect(pseudo == ["POST", "/", "a"])
        #expect(fields == ["Content-Length=3", "Expect=100-continue"])
    }

    /// The head is the client's own, but no input may cause a trap.
    @Test(arguments: [
        "", "\r\n", "GET", "GET /", "GET / HTTP/1.1", "GET / HTTP/1.1\r\nHost", "GET / HTTP/1.1\r\n: :\r\n",
    ])
    func incompleteHeadsAreRead(text: String) {
        _ = parts(of: text)
    }
}
