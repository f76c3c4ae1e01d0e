import NIOCore
import NIOEmbedded
import NightjarHTTP
import NightjarTestSupport
import Testing

@testable import NightjarTransport

/// The handler between a channel and a TLS connection. The channel and the server are in memory.
@Suite struct TLSHandlerTests {
    /// Each write takes a system call, and usually a packet.
    @Test func endOfTheHandshakeAndTheFirstDataAreOneWrite() throws {
        var configuration = TransportConfiguration.TLS()
        configuration.certificateAuthorityFile = try TestCertificates.shared().authority
        let channel = EmbeddedChannel()
        let client = try TLSClient(configuration, on: channel.eventLoop)
        var results = 0
        let peer = Peer(try RequestURL("https://localhost/").origin)
        let handler = try client.handler(
            for: peer, socket: nil, isClassical: false, protocols: .http1, request: nil
        ) { handler, _ in
            results += 1
            handler.send(ByteBuffer(string: "request"))
        }
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.pipeline.syncOperations.addHandler(handler)
        let server = try MemoryTLSServer(.init())
        var writes = 0
        while results == 0 {
            var hello = try #require(try channel.readOutbound(as: ByteBuffer.self))
            let flight = try server.receive(hello.readBytes(length: hello.readableBytes) ?? [])
            try channel.writeInbound(ByteBuffer(bytes: flight))
        }
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
            writes += 1
            _ = try server.receive(Array(bytes.readableBytesView))
        }
        #expect(try server.readData() == Array("request".utf8))
        #expect((writes, results) == (1, 1))
        channel.close(promise: nil)
        client.shutDown()
    }
}
