extension DemoStatistics {
    /// The traffic of the WebSocket endpoints.
    package struct WebSockets: Sendable {
        /// Accepted handshakes.
        package internal(set) var opened = 0
        /// Accepted handshakes whose TCP connection has not been closed.
        package internal(set) var open = 0
        /// Messages received.
        package internal(set) var messages = 0
        package internal(set) var messagesSent = 0
        /// Pings received.
        package internal(set) var pings = 0
        /// Pongs received.
        package internal(set) var pongs = 0
        /// The number of Close frames received, by code. 1005 stands for Close frames without a code.
        package internal(set) var closes: [Int: Int] = [:]
        /// Connections that were closed because the client violated the protocol or a limit.
        package internal(set) var violations = 0
    }
}
