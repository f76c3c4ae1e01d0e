import NIOCore
import NIOEmbedded
import NIOSSL

/// A TLS server in memory, for conversations with the TLS client.
public final class MemoryTLSServer {
    /// The settings that connections share, so that a connection can resume a session of an earlier one.
    public final class Context {
        fileprivate let context: NIOSSLContext

        public init(_ tls: PeerTLS = PeerTLS()) throws {
            context = try NIOSSLContext(configuration: tls.configuration())
        }
    }

    private let channel: EmbeddedChannel

    public init(_ context: Context) throws {
        channel = EmbeddedChannel(handler: NIOSSLServerHandler(context: context.context))
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    /// Passes encrypted bytes of the client to the server, and returns the encrypted bytes that the server sends.
    public func receive(_ bytes: [UInt8]) throws -> [UInt8] {
        if !bytes.isEmpty { try channel.writeInbound(ByteBuffer(bytes: bytes)) }
        return try takeOutput()
    }

    /// Encrypts data, and returns the encrypted bytes.
    public func send(_ data: [UInt8]) throws -> [UInt8] {
        channel.writeAndFlush(ByteBuffer(bytes: data), promise: nil)
        return try takeOutput()
    }

    /// Ends the connection with close_notify, and returns the encrypted bytes.
    public func close() throws -> [UInt8] {
        channel.close(promise: nil)
        return try takeOutput()
    }

    /// Returns the decrypted data of the client.
    public func readData() throws -> [UInt8] {
        var data: [UInt8] = []
        while let buffer = try channel.readInbound(as: ByteBuffer.self) { data += buffer.readableBytesView }
        return data
    }

    private func takeOutput() throws -> [UInt8] {
        channel.embeddedEventLoop.run()
        var output: [UInt8] = []
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { output += buffer.readableBytesView }
        return output
    }
}
