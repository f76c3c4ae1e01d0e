import Glibc
import NIOCore

/// The system's socket under a channel. Not to be kept beyond the channel's close.
struct SocketHandle {
    private let descriptor: CInt

    /// - Returns: nil when the channel is no socket of the system's.
    init?(_ channel: any Channel) {
        let known = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self, { $0 })
        guard let descriptor = known else { return nil }
        self.descriptor = descriptor
    }

    /// Takes from `bytes` what the socket has room for. What is left, also after a failure, is for the channel, which
    /// meets the same failure.
    ///
    /// For requests on a connection without TLS that the socket takes at once: a system call in place of the channel's
    /// machinery for writes that may have to wait, which costs a request 8 % of its instructions. Only as long as nothing
    /// was written through the channel, which may still hold it back.
    func write(_ bytes: inout ByteBuffer) {
        let written = bytes.withUnsafeReadableBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL) | CInt(MSG_DONTWAIT))
        }
        if written > 0 { bytes.moveReaderIndex(forwardBy: written) }
    }

    /// Bytes that the system has taken and the peer's system has not confirmed (tcp(7), SIOCOUTQ).
    var unacknowledgedBytes: Int {
        var count: CInt = 0
        return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? Int(count) : 0
    }
}
