import CNetworkState
import CPlatform
import NIOCore
import NightjarSystem

/// The system socket of a channel. Must not be used after the channel is closed.
struct SocketHandle {
    private let descriptor: CInt

    /// Returns nil if the channel has no system socket.
    init?(_ channel: any Channel) {
        let known = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self, { $0 })
        guard let descriptor = known else { return nil }
        self.descriptor = descriptor
    }

    /// Writes as much of `bytes` as the socket accepts. The caller writes the remaining bytes through the channel.
    /// After a failure, all bytes remain, and the channel encounters the same failure.
    ///
    /// Used for requests, because the channel's write queue takes 8 % of the instructions of a request. Must not be
    /// called while data that was written through the channel may still be in the channel's queue.
    func write(_ bytes: inout ByteBuffer) {
        let written = bytes.withUnsafeReadableBytes { write($0) }
        bytes.moveReaderIndex(forwardBy: written)
    }

    /// Writes as much of `bytes` as the socket accepts, see ``write(_:)-(ByteBuffer)``. Returns the number of written
    /// bytes.
    func write(_ bytes: UnsafeRawBufferPointer) -> Int {
        max(0, cplatform_send(descriptor, bytes.baseAddress, bytes.count, false))
    }

    /// Reads available bytes. Like recv(2), returns their number, 0 at the end of the stream, or -1 with errno.
    ///
    /// Must not be called while the channel has read data that its handlers have not received.
    func read(_ memory: UnsafeMutableRawBufferPointer) -> Int {
        recv(descriptor, memory.baseAddress, memory.count, CInt(MSG_DONTWAIT))
    }

    /// The number of bytes in the send buffer that the peer has not acknowledged (on Linux: tcp(7), SIOCOUTQ).
    var unacknowledgedBytes: Int { max(0, Int(cplatform_unacknowledged(descriptor))) }

    /// Makes an unconnected socket use an interface, or else one of its addresses unless `hasAddress` is true. Returns 0 or
    /// an errno value.
    func use(interface: String, hasAddress: Bool) -> CInt { cns_bind_interface(descriptor, interface, hasAddress) }

    /// Binds an unconnected socket to a local address, which may be a link-local address of the interface. Returns 0 or an
    /// errno value.
    func bind(to address: [UInt8], of interface: String?) -> CInt {
        cns_bind_address(descriptor, address, address.count, interface)
    }

    /// Sends keep-alive probes until ``stopProbing()`` is called. After about three seconds without a response, the
    /// channel fails with ETIMEDOUT.
    ///
    /// - Returns: False if the socket does not support probes.
    func startProbing() -> Bool { cns_probe_start(descriptor) == 0 }

    func stopProbing() { cns_probe_stop(descriptor) }

    /// The smoothed round-trip time. Nil if unknown.
    var roundTrip: TimeAmount? {
        let microseconds = cns_round_trip(descriptor)
        return microseconds < 0 ? nil : .microseconds(microseconds)
    }

    /// The time since the peer last acknowledged data or a probe, in units of a few milliseconds. Nil if unknown.
    var silence: TimeAmount? {
        let milliseconds = cns_probe_silence(descriptor)
        return milliseconds < 0 ? nil : .milliseconds(milliseconds)
    }
}
