import NIOCore
import Nightjar
import NightjarHTTP
import NightjarTestSupport
import Synchronization
import Testing

/// Compressed request bodies, decoded with gzip(1).
@Suite struct RequestCompressionTests {
    private let folder: TemporaryDirectory
    private let text = String(repeating: "It was a dark and stormy night. ", count: 20_000)

    init() throws { folder = try TemporaryDirectory() }

    private func request(_ body: RequestBody) -> Request {
        var request = Request(.post, "/")
        request.body = body
        request.compresses = true
        request.expectsContinue = false
        return request
    }

    private func gunzip(_ bytes: [UInt8]) throws -> [UInt8] {
        let result = try run("gzip", ["-dc"], input: Bytes(bytes))
        #expect(result.status == 0, "\(result.errors)")
        return result.output
    }

    @Test func contentInMemoryIsCompressed() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer)
        _ = try client.sendBlocking(request(.bytes(ByteBuffer(string: text))))
        let received = peer.requests[0]
        #expect(received["content-encoding"] == "gzip")
        #expect(received["content-length"] == String(received.body.count))
        #expect(received.body.count < text.utf8.count / 10)
        #expect(try gunzip(received.body) == Array(text.utf8))
    }

    @Test func incompressibleContentIsSentUncompressed() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(), .expectRequest, .respond()]])
        let client = try client(of: peer)
        _ = try client.sendBlocking(request(.bytes(ByteBuffer(string: "short"))))
        _ = try client.sendBlocking(request(.none))
        #expect(peer.requests[0].bodyText == "short")
        #expect(peer.requests.map { $0["content-encoding"] } == [nil, nil])
    }

    @Test func filesAndFormsAreCompressedWhileSending() throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .respond(), .expectRequest, .respond(), .expectRequest, .respond()]
        ])
        let client = try client(of: peer)
        let path = try folder.write("night.txt", Bytes(Array(text.utf8)))
        _ = try client.sendBlocking(request(.file(path: path)))
        _ = try client.sendBlocking(request(.file(path: try folder.write("empty", ""))))
        let form = try MultipartForm([.init("night", .file(path: path, length: nil))])
        _ = try client.sendBlocking(request(.multipart(form)))
        for received in peer.requests {
            #expect(received["content-encoding"] == "gzip")
            #expect(received["transfer-encoding"] == "chunked")
            #expect(received["content-length"] == nil)
        }
        #expect(try gunzip(peer.requests[0].body) == Array(text.utf8))
        #expect(try gunzip(peer.requests[1].body) == [])
        #expect(String(decoding: try gunzip(peer.requests[2].body), as: UTF8.self).contains(text))
        #expect(peer.requests[2]["content-type"] == form.contentType)
        #expect(peer.failures == [])
    }

    @Test(arguments: [0, 5, 640_000])
    func streamIsCompressedWhileSending(size: Int) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer)
        let bytes = Array(text.utf8.prefix(size))
        let sent = Mutex((position: 0, ends: 0))
        var handlers = TaskHandlers { _, _ in }
        handlers.provideBody = { _, maximum in
            sent.withLock { sent in
                let part = bytes[sent.position...].prefix(min(maximum, 10_000))
                sent.position += part.count
                if part.isEmpty { sent.ends += 1 }
                return part.isEmpty ? .end : .bytes(ByteBuffer(bytes: part))
            }
        }
        // `length` is the length before compression, so the body is chunked.
        _ = try client.sendBlocking(request(.stream(length: size)), handlers: handlers)
        #expect(try gunzip(peer.requests[0].body) == bytes)
        #expect(peer.requests[0]["transfer-encoding"] == "chunked")
        #expect(sent.withLock { $0.ends } == 1)
    }

    @Test func redirectWithoutBodyDropsContentEncoding() throws {
        let peer = try ScriptedPeer([
            [.expectRequest, .respond("303 See Other", headers: ["Location: /"]), .expectRequest, .respond()]
        ])
        let client = try client(of: peer)
        let path = try folder.write("night.txt", Bytes(Array(text.utf8)))
        _ = try client.sendBlocking(request(.file(path: path)))
        #expect(peer.requests[1].method == "GET")
        #expect(peer.requests[1]["content-encoding"] == nil)
        #expect(peer.requests[1]["transfer-encoding"] == nil)
    }

    @Test func encodedBodyIsNotEncodedAgain() throws {
        let client = try client(of: ScriptedPeer([]))
        var request = request(.bytes(ByteBuffer(string: text)))
        try request.headers.set("Content-Encoding", "br")
        let error = try failure(client, request)
        #expect(error.kind == .invalidRequest)
        #expect(error.message.hasPrefix("the request already has a Content-Encoding header"))
    }

    // MARK: Bodies of GET and HEAD

    @Test(arguments: [Nightjar.Method.get, .head])
    func bodyOnGetRequiresAnOption(method: Nightjar.Method) throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond(headers: ["Connection: close"])]])
        let client = try client(of: peer)
        var request = Request(method, "/", body: "query")
        let error = try failure(client, request)
        #expect(error.kind == .invalidRequest)
        #expect(
            error.message
                == "\(method) has a body, which servers and caches may ignore (RFC 9110 section 9.3.1); "
                + "use POST, use the query, or set allow_body_on_get")
        #expect(peer.connectionCount == 0)
        request.allowsBodyOnGet = true
        _ = try client.sendBlocking(request)
        #expect(peer.requests[0].bodyText == "query")
    }

    @Test func deleteMayHaveABody() throws {
        let peer = try ScriptedPeer([[.expectRequest, .respond()]])
        let client = try client(of: peer)
        _ = try client.sendBlocking(Request(.delete, "/", body: "why"))
        #expect(peer.requests[0].bodyText == "why")
    }
}
