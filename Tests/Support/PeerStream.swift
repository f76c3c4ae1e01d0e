import Glibc

/// The stream on which a script runs: a plain socket, TLS, or the streams of an HTTP/2 connection.
protocol PeerStream: AnyObject {
    func receive(within limit: Duration) throws -> [UInt8]
    /// Returns data without waiting; nil if there is none, empty at the end of the stream.
    func receiveAvailable() throws -> [UInt8]?
    /// Waits without limit until ``receive(within:)`` has data to return or to decrypt, or the peer has closed its half.
    func waitForData() throws
    /// Waits without limit until the peer has closed its half. Received data stays unread.
    func waitForEnd() throws
    func send(_ bytes: Bytes, within limit: Duration) throws
    /// Sends byte by byte, with a pause after each.
    func sendSlowly(_ bytes: Bytes, within limit: Duration, pause: () throws -> Void) throws
    func sendUnencrypted(_ bytes: Bytes, within limit: Duration) throws
    /// Closes the local half, with a close_notify alert if TLS is used, and leaves the peer's half open.
    func shutdownOutput()
    /// Closes the connection, with a close_notify alert if TLS is used.
    func close()
    /// Closes the connection without a close_notify alert.
    func closeWithoutNotice()
    /// Closes the connection with an RST.
    func reset()
    /// Called before each step of the script.
    func stepBegan(_ next: PeerNext)
}

extension PeerStream {
    func sendSlowly(_ bytes: Bytes, within limit: Duration, pause: () throws -> Void) throws {
        for byte in bytes.array {
            try send([byte], within: limit)
            try pause()
        }
    }

    func stepBegan(_ next: PeerNext) {}
}

extension Socket: PeerStream {
    func receive(within limit: Duration) throws -> [UInt8] { try receive(atMost: 64 * 1024, within: limit) }
    func receiveAvailable() throws -> [UInt8]? { try received(atMost: 64 * 1024) }
    func waitForData() throws { try wait(for: POLLIN, within: nil) }
    func waitForEnd() throws { try wait(for: Socket.peerEnded, within: nil) }
    func closeWithoutNotice() { close() }
    func sendUnencrypted(_ bytes: Bytes, within limit: Duration) throws { try send(bytes, within: limit) }
}
