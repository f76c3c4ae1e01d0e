import Foundation
import NIOCore
import Nightjar
import NightjarTestSupport
import Synchronization
import Testing

/// Messages of HTTP/2: interim responses, trailers, long field blocks and priorities. RFC 9113 section 8.
@Suite struct HTTP2MessageTests {
    /// Runs the function of a server, and then that of its client.
    private func exchange(_ server: @escaping HTTP2Peer.Script, client body: (Client) throws -> Void) throws {
        let peer = try HTTP2Peer([server])
        let client = try client(of: peer)
        try body(client)
        client.close()
        try eventually("the connection is closed") { peer.endedCount == 1 }
        #expect(peer.failures == [])
    }

    private func upload(_ text: String, expects: Bool) -> Request {
        var request = Request(.post, "/", body: text)
        request.expectsContinue = expects
        return request
    }

    @Test func bodyFollows100Continue() throws {
        try exchange { connection in
            let request = try connection.request()
            guard request["expect"] == "100-continue", !request.ends else {
                throw HTTP2PeerConnection.Failure("no expectation")
            }
            let early = try connection.frames(within: .milliseconds(100)).contains {
                if case .frame(let frame) = $0 { frame.kind == .data } else { false }
            }
            guard !early else { throw HTTP2PeerConnection.Failure("DATA before 100") }
            try connection.head(request.stream, 100)
            try connection.respond(request.stream, body: Bytes(try connection.body(request.stream)))
            try connection.readToEnd()
        } client: { client throws in
            #expect(try client.sendBlocking(upload("the body", expects: true)).text == "the body")
        }
    }

    /// The stream ends without its body. The connection stays usable.
    @Test func finalResponseInsteadOf100ResetsTheStream() throws {
        try exchange { connection in
            let request = try connection.request()
            try connection.head(request.stream, 403, ends: true)
            let reset = try connection.frame(.reset, stream: request.stream)
            guard [.noError, .cancel].contains(reset.resetCode) else {
                throw HTTP2PeerConnection.Failure("RST_STREAM \(reset)")
            }
            try connection.respond(try connection.request().stream, body: "next")
            try connection.readToEnd()
        } client: { client throws in
            #expect(try failure(client, upload("the body", expects: true)).kind == .forbidden)
            #expect(try client.sendBlocking(Request(.get, "/")).text == "next")
        }
    }

    @Test func interimResponsesPrecedeTheFinalOne() throws {
        try exchange { connection in
            let request = try connection.request()
            try connection.head(request.stream, 102)
            for _ in 0..<3 { try connection.head(request.stream, 103, [("link", "</a>")]) }
            try connection.respond(request.stream, body: "final")
            try connection.readToEnd()
        } client: { client throws in
            let response = try client.sendBlocking(Request(.get, "/"))
            #expect(response.status == 200 && response.text == "final")
        }
    }

    @Test func trailersOfTheResponseAreDelivered() throws {
        try exchange { connection in
            let request = try connection.request()
            guard request["te"] == nil || request["te"] == "trailers" else {
                throw HTTP2PeerConnection.Failure("RFC 9113 section 8.2.2: TE")
            }
            try connection.head(request.stream)
            try connection.send(.data(request.stream, Array("ok".utf8)))
            let block = HTTP2FieldBlock.literals([("digest", "x"), ("grpc-status", "0")])
            try connection.send(HTTP2Frame.headers(request.stream, block: block, ends: true))
            try connection.readToEnd()
        } client: { client throws in
            let response = try client.sendBlocking(Request(.get, "/"))
            #expect(response.text == "ok")
            #expect(response.trailers["digest"] == "x" && response.trailers["grpc-status"] == "0")
        }
    }

    /// libnghttp2 permits eight CONTINUATION frames.
    @Test func headMayBeSplitOverManyFrames() throws {
        try exchange { connection in
            let request = try connection.request()
            let block = HTTP2FieldBlock.literals([(":status", "200"), ("x-long", String(repeating: "v", count: 300))])
            try connection.send(HTTP2Frame.headers(request.stream, block: block, ends: true, maximum: 40))
            try connection.readToEnd()
        } client: { client throws in
            let response = try client.sendBlocking(Request(.get, "/"))
            #expect(response.headers["x-long"]?.utf8.count == 300)
        }
    }

    @Test func longRequestHeadUsesContinuation() throws {
        try exchange { connection in
            let request = try connection.request()
            guard request.frameCount > 1, request["x-long"]?.utf8.count == 40_000 else {
                throw HTTP2PeerConnection.Failure("\(request.frameCount) frames")
            }
            try connection.respond(request.stream, body: "ok")
            try connection.readToEnd()
        } client: { client throws in
            var request = Request(.get, "/")
            // Characters whose Huffman code has eight bits or more, so that the block is not shorter than the value.
            try request.headers.set("X-Long", String(repeating: "&", count: 40_000))
            #expect(try client.sendBlocking(request).text == "ok")
        }
    }

    /// RFC 9218 section 5.
    @Test func priorityIsSent() throws {
        try exchange { connection in
            let request = try connection.request()
            try connection.respond(request.stream, body: Bytes(Array((request["priority"] ?? "none").utf8)))
            try connection.readToEnd()
        } client: { client throws in
            var request = Request(.get, "/")
            try request.headers.set("Priority", "u=1, i")
            #expect(try client.sendBlocking(request).text == "u=1, i")
        }
    }

    /// RFC 9113 section 8.2.2.
    @Test func fieldsOfAConnectionAreNotSent() throws {
        try exchange { connection in
            let request = try connection.request()
            for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "host"]
            where request[name] != nil {
                throw HTTP2PeerConnection.Failure("the request has the field \(name)")
            }
            guard request[":scheme"] == "http", request[":method"] == "POST" else {
                throw HTTP2PeerConnection.Failure("\(request.fields)")
            }
            _ = try connection.body(request.stream)
            try connection.respond(request.stream, body: "ok")
            try connection.readToEnd()
        } client: { client throws in
            #expect(try client.sendBlocking(Request(.post, "/", body: "x")).text == "ok")
        }
    }

    /// A field of 4000 bytes in the dynamic table is referenced 20,000 times: 20 KB on the wire are 80 MB of fields.
    @Test func fieldsThatAreIndexedManyTimesAreAProtocolError() throws {
        let peer = try HTTP2Peer([
            { connection in
                let request = try connection.request()
                let status: [UInt8] = [0x88]
                let bomb = HTTP2FieldBlock.indexed("x-bomb", [UInt8](repeating: 65, count: 4000))
                let block = status + bomb + [UInt8](repeating: 0xBE, count: 20_000)
                try connection.send(HTTP2Frame.headers(request.stream, block: block, ends: true))
                try connection.readToEnd()
            }
        ])
        let client = try client(of: peer)
        let before = residentBytes()
        let error = try failure(client, Request(.get, "/"))
        #expect(error.kind == .protocol || error.kind == .tooLarge, "\(error.message)")
        #expect(residentBytes() - before < 20 << 20)
        client.close()
        #expect(peer.connectionCount == 1)
    }

    /// The resident memory of this process, without its file mappings.
    private func residentBytes() -> Int {
        let text = (try? String(contentsOf: URL(fileURLWithPath: "/proc/self/status"), encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 1024
    }
}
